import { IDisposable } from '@lumino/disposable';
import { Poll } from '@lumino/polling';
import { ISignal, Signal } from '@lumino/signaling';
import { Api } from '../api';
import { NOT_COUNTED } from '../format';
import { IAttempt, IBatch } from '../tokens';
import { Item } from './catalog';

const BUSY = 2000;
const QUIET = 15000;

/** The batches that pools are at work on. */
export class BatchesModel implements IDisposable {
  constructor(private _api: Api) {
    this._poll = new Poll({
      auto: false,
      name: 'reclaim:batches',
      frequency: { interval: QUIET, backoff: true, max: 120000 },
      standby: 'when-hidden',
      factory: () => this._read()
    });
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._poll.isDisposed;
  }

  /** Those at work, in the order of their names. */
  running: IBatch[] = [];

  /** Begin to look. */
  start(): void {
    void this._poll.start();
  }

  /** Something has just been begun or stopped. */
  refresh(): Promise<void> {
    return this._poll.refresh();
  }

  dispose(): void {
    this._poll.dispose();
    Signal.clearData(this);
  }

  private async _read(): Promise<void> {
    const running = (await this._api.batches()).filter(batch => batch.running);
    const interval = running.length > 0 ? BUSY : QUIET;
    if (this._poll.frequency.interval !== interval) {
      this._poll.frequency = { ...this._poll.frequency, interval };
    }
    if (JSON.stringify(running) !== JSON.stringify(this.running)) {
      this.running = running;
      this._changed.emit();
    }
  }

  private _poll: Poll;
  private _changed = new Signal<this, void>(this);
}

/** How far a batch is: attempts with a result of their own, those at work, and those ended by a fault or a stop. */
export function standing(
  batch: IBatch,
  attempts: Iterable<IAttempt>
): { done: number; running: number; faults: number } {
  const done = new Set<string>();
  let running = 0;
  let faults = 0;
  for (const attempt of attempts) {
    if (!attempt.path.startsWith(`${batch.folder}/`)) {
      continue;
    }
    if (attempt.state === 'running') {
      running += 1;
    } else if (attempt.state === 'ended' && NOT_COUNTED.includes(attempt.reason ?? '')) {
      faults += 1;
    } else if (attempt.state === 'ended') {
      // An attempt that was made again after a fault is one attempt of the plan.
      done.add(`${attempt.path.split('/').slice(1, 4).join('/')}/${attempt.repeat}`);
    }
  }
  return { done: Math.min(done.size, batch.total), running, faults };
}

/** The rows of the panel with the batches at work on top, under the header of what is running. */
export function withBatches(items: Item[], batches: IBatch[]): Item[] {
  if (batches.length === 0) {
    return items;
  }
  const rows = batches.map((batch): Item => ({ kind: 'batch', key: `batch:${batch.folder}`, batch }));
  const [first, ...rest] = items;
  return first?.kind === 'running-header'
    ? [first, ...rows, ...rest]
    : [{ kind: 'running-header', key: 'running', count: 0 }, ...rows, ...items];
}
