import { agentName, hoursLine, markOf, quantity, sentence, share, short, since, span, spend } from '../format';
import { meaningOf, term, words } from '../terms';
import { attempt, english, loud, paper } from './samples';

test.each([
  [null, '–'],
  [undefined, '–'],
  ['nonsense', '–'],
  ['0', '0 s'],
  [0.00001, '<0.1 s'],
  ['0.0025', '9 s'],
  [0.05, '3 min'],
  [59.96 / 3600, '1 min'],
  [0.9999, '1 h'],
  ['2.66', '2.7 h'],
  [100, '100 h']
])('span(%p) is %p', (hours, text) => {
  expect(span(hours as any)).toBe(text);
});

test.each([
  [9.94, '9.9'],
  [9.96, '10'],
  [-3.14, '-3.1'],
  [0.04, '<0.1']
])('short(%p) is %p', (value, text) => {
  expect(short(value)).toBe(text);
});

test('a share is between nothing and all, or unknown', () => {
  expect(share('1', '4')).toBe(0.25);
  expect(share('9', '4')).toBe(1);
  expect(share('-1', '4')).toBe(0);
  expect(share('0', '0')).toBeNull();
  expect(share('1', '0')).toBeNull();
  expect(share(null, '4')).toBeNull();
});

test('the mark is the outcome, or why there is none', () => {
  expect(markOf(attempt('a', { outcome: 'near_miss' }))).toBe('near_miss');
  expect(markOf(attempt('a'))).toBe('ungraded');
  expect(markOf(attempt('a', { outcome: 'something of a later version' }))).toBe('ungraded');
  expect(markOf(attempt('a', { reason: 'cancelled', outcome: 'reproduced' }))).toBe('not_counted');
  expect(markOf(attempt('a', { state: 'running' }))).toBe('running');
});

test('values carry their unit', () => {
  expect(quantity('4.15', 'percent')).toBe('4.15 %');
  expect(quantity('4.15', 'none')).toBe('4.15');
  expect(quantity('4.150', 'kB')).toBe('4.150 kB'); // the digits as they are
  expect(quantity(null, 'kB')).toBe('–');
});

test('an attempt in words', () => {
  const one = attempt('a', {
    model: 'm-1',
    conditions: 'nudge,anchor_gate',
    outcome: 'near_miss',
    value: '4.2',
    cause: 'C14'
  });
  expect(agentName(one)).toBe('replay m-1 +nudge +anchor_gate');
  expect(sentence(one, english)).toBe(
    'replay m-1 +nudge +anchor_gate, repeat 1: near miss · measured 4.2 count · cause C14 · ended: submitted · 3.6 s of 3 min CPU'
  );
  expect(sentence(one, loud)).toBe(
    'replay m-1 +nudge +anchor_gate, REPEAT 1: NEAR MISS · MEASURED 4.2 count · CAUSE C14 · ENDED: SUBMITTED · 3.6 s OF 3 min CPU'
  );
  expect(spend(attempt('a', { device: 'gpu', budget_hours: null }), english)).toBe('3.6 s H100');
  expect(words('not_reproduced')).toBe('not reproduced');
  expect(hoursLine(paper('a', { need_hours: null }), english)).toBe('need unknown · 3 min');
});

test('a word of a record is told in the person’s language, and as it is where nobody has a word for it', () => {
  expect(term('not_reproduced', loud)).toBe('NOT REPRODUCED');
  expect(term('a_rule_of_tomorrow', loud)).toBe('a rule of tomorrow');
  expect(term('constructor', loud)).toBe('constructor');
  expect(term(null, loud)).toBe('');
  expect(meaningOf('blocked', loud)).toBe('SOMETHING THAT WAS NEEDED COULD NOT BE HAD');
  expect(meaningOf('toString', loud)).toBe('');
});

test('time since a moment', () => {
  const now = Date.parse('2026-01-01T01:01:05Z');
  expect(since('2026-01-01T01:01:00Z', now)).toBe('5 s');
  expect(since('2026-01-01T01:00:00Z', now)).toBe('1 min 5 s');
  expect(since('2026-01-01T00:00:00Z', now)).toBe('1 h 1 min');
  expect(since('2026-01-01T02:00:00Z', now)).toBe('0 s'); // clocks differ
  expect(since(null, now)).toBe('');
});
