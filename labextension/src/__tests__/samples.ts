import { TranslationBundle } from '@jupyterlab/translation';
import { IAttempt, IPaper, IScale } from '../tokens';

function bundle(of: (text: string) => string): TranslationBundle {
  const filled = (text: string, values: unknown[]) =>
    of(text).replace(/%(\d)/g, (_, number) => String(values[Number(number) - 1]));
  return {
    __: (text: string, ...values: unknown[]) => filled(text, values),
    _n: (one: string, many: string, n: number, ...values: unknown[]) => filled(n === 1 ? one : many, [n, ...values])
  } as unknown as TranslationBundle;
}

/** English, as the lab's own translator gives it. */
export const english = bundle(text => text);

/** Another language: what was not given to be translated stays small. */
export const loud = bundle(text => text.toUpperCase());

/** What tests change of a whole one. */
export function paper(id: string, change: Partial<IPaper> = {}): IPaper {
  return {
    name: `tiny/${id}`,
    suite: 'tiny',
    id,
    title: `Paper ${id}`,
    tier: 'run',
    device: 'cpu',
    metric: 'mean',
    target: '4.0',
    unit: 'count',
    direction: 'none',
    criterion: '3.9 to 4.1',
    need_hours: '0.002',
    budget_hours: '0.05',
    hours_unit: 'CPU-hours',
    audit: 'sound',
    audit_reasons: [],
    ...change
  };
}

export function attempt(paperId: string, change: Partial<IAttempt> = {}): IAttempt {
  const repeat = change.repeat ?? 1;
  return {
    path: `single/tiny/${paperId}/replay/0${repeat}`,
    batch: 'single',
    suite: 'tiny',
    paper: paperId,
    agent: 'replay',
    model: null,
    conditions: '',
    repeat,
    again: 0,
    id: 'x',
    title: '',
    tier: 'run',
    device: 'cpu',
    kernel: 'local',
    unsandboxed: true,
    state: 'ended',
    reason: 'submitted',
    outcome: null,
    cause: null,
    value: null,
    unit: 'count',
    submitted: null,
    spent_hours: '0.001',
    budget_hours: '0.05',
    started: '2026-01-01T00:00:00Z',
    updated: '2026-01-01T00:01:00Z',
    verdicts: 0,
    imported: false,
    problem: null,
    ...change
  };
}

export function scale(change: Partial<IScale> = {}): IScale {
  return {
    metric: 'mean',
    unit: 'count',
    direction: 'none',
    target: '4.0',
    band: { low: '3.9', high: '4.1', open: false, text: '3.9 to 4.1', tolerance: '0.1' },
    strict: null,
    baseline: null,
    siblings: [],
    gold: null,
    ...change
  };
}
