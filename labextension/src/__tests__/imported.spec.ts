import { linesOf } from '../components/ImportedFacts';
import { english as trans } from './samples';

describe('a published run', () => {
  const run = {
    exit_label: 'Budget exhausted',
    mode: 'other',
    mode_slug: 'protocol-drift_direction-flip',
    self_report: 'not_reproduced',
    budget_h100: 32,
    spent_h100: 1.83,
    duration_s: 6892,
    rounds: 86,
    tool_calls: 0,
    tokens: { total: 4504987, prompt: 4455760, cached: 3871824, completion: 49227 },
    audit: {
      score: 6,
      verdict: 'partial',
      flags: [
        { kind: 'other_break', severity: 'med' },
        { kind: 'other_break', severity: 'med' },
        { kind: 'other_break', severity: 'low' }
      ]
    }
  };

  it('is told in words, each flag once, and without what is not there', () => {
    const lines = new Map(linesOf(run, trans));
    expect(lines.get('Judged elsewhere')).toBe('partial, score 6 of 10');
    expect(lines.get('Flags')).toBe('2 × other break (medium); other break (low)');
    expect(lines.get('How it went')).toBe('protocol drift direction flip');
    expect(lines.get('Spent')).toBe('1.8 h of 32 h, H100 hours');
    expect(lines.get('Time')).toBe('1.9 h');
    expect(lines.get('Tokens')).toBe('4,455,760 in (3,871,824 cached), 49,227 out');
    expect(lines.has('Tool calls')).toBe(false);
    expect(lines.has('Claim')).toBe(false);
  });

  it('says nothing of what a release leaves out', () => {
    expect(linesOf({}, trans)).toEqual([]);
    expect(linesOf({ audit: { verdict: 'partial', score: 3 } }, trans)).toHaveLength(1);
  });
});
