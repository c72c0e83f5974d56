import { IDisposable } from '@lumino/disposable';
import { Poll } from '@lumino/polling';
import { ISignal, Signal } from '@lumino/signaling';
import { Api } from '../api';
import { NOT_COUNTED } from '../format';
import { IAttempt, IBatch } from '../tokens';
import { Item } from './catalog';

const BUSY = 2000;
const QUIET = 15000;

/** Key of the header of the batches that can be resumed. */
export const STOPPED = 'stopped';

/** The batches of the runs folder. */
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

  /** In the order of their names. */
  all: IBatch[] = [];

  /** They have been looked at, whether or not the server could say. */
  looked = false;

  /** Those that pools are at work on. */
  get running(): IBatch[] {
    return this.all.filter(batch => batch.running);
  }

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
    try {
      this._take(await this._api.batches());
    } finally {
      if (!this.looked) {
        this.looked = true;
        this._changed.emit();
      }
    }
  }

  private _take(all: IBatch[]): void {
    const interval = all.some(batch => batch.running) ? BUSY : QUIET;
    if (this._poll.frequency.interval !== interval) {
      this._poll.frequency = { ...this._poll.frequency, interval };
    }
    if (JSON.stringify(all) !== JSON.stringify(this.all)) {
      this.all = all;
      this._changed.emit();
    }
  }

  private _poll: Poll;
  private _changed = new Signal<this, void>(this);
}

/** How far a batch is. */
export interface IStanding {
  batch: IBatch;
  /** Attempts of the plan that have their result, or were made again as often as it allows. */
  done: number;
  running: number;
  /** Ends by a fault or a stop. */
  faults: number;
}

/** How far each batch is, found in one look at all attempts. */
export function standings(batches: IBatch[], attempts: Iterable<IAttempt>): IStanding[] {
  const found = new Map(
    batches.map(batch => [batch.folder, { batch, keys: new Set<string>(), running: 0, faults: 0 }])
  );
  if (found.size > 0) {
    for (const attempt of attempts) {
      const one = found.get(attempt.path.slice(0, attempt.path.indexOf('/')));
      if (one === undefined) {
        continue;
      }
      const fault = NOT_COUNTED.includes(attempt.reason ?? '');
      if (attempt.state === 'running') {
        one.running += 1;
      } else if (attempt.state === 'ended' && fault) {
        one.faults += 1;
      }
      if (attempt.state === 'ended' && (!fault || attempt.again > one.batch.retries)) {
        // An attempt that was made again after a fault is one attempt of the plan.
        one.keys.add(`${attempt.path.split('/').slice(1, 4).join('/')}/${attempt.repeat}`);
      }
    }
  }
  return [...found.values()].map(({ batch, keys, running, faults }) => ({
    batch,
    done: Math.min(keys.size, batch.total),
    running,
    faults
  }));
}

/** Batches that nobody is at work on, though attempts of theirs are missing. */
export function unfinished(all: IStanding[]): IStanding[] {
  return all.filter(({ batch, done }) => !batch.running && done < batch.total);
}

/**
 * The rows of the panel with the batches at work on top, under the header of what is running, and below what runs those
 * that can be resumed, under a header of their own.
 */
export function withBatches(items: Item[], all: IStanding[], open: boolean): Item[] {
  if (all.length === 0) {
    return items;
  }
  const row = (standing: IStanding): Item => ({
    kind: 'batch',
    key: `batch:${standing.batch.folder}`,
    standing
  });
  const working = all.filter(({ batch }) => batch.running).map(row);
  const stopped = unfinished(all);
  const header = items.filter(item => item.kind === 'running-header');
  if (header.length === 0 && working.length > 0) {
    header.push({ kind: 'running-header', key: 'running', count: 0 });
  }
  const count = stopped.length;
  return [
    ...header,
    ...working,
    ...items.filter(item => item.kind === 'running'),
    ...(count > 0 ? [{ kind: 'stopped-header', key: STOPPED, open, count } as Item] : []),
    ...(open ? stopped.map(row) : []),
    ...items.filter(item => item.kind !== 'running-header' && item.kind !== 'running')
  ];
}
