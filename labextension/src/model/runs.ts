import { IDisposable } from '@lumino/disposable';
import { Debouncer } from '@lumino/polling';
import { ISignal, Signal } from '@lumino/signaling';
import { Api } from '../api';
import { IAttempt, IDetail, ILive, IStatus, ISuite } from '../tokens';
import { Catalog } from './catalog';
import { Feed, Message } from './feed';
import { Picks } from './picks';

/** All suites and attempts as they are now. Views listen to `changed` and read. */
export class RunsModel implements IDisposable {
  constructor(
    readonly api: Api,
    readonly feed: Feed
  ) {
    this._tell = new Debouncer(() => {
      this._catalog = null;
      this._changed.emit();
    }, 60);
    feed.message.connect(this._onMessage, this);
    feed.connectedChanged.connect(() => this._changed.emit());
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The path of an attempt whose files have changed. */
  get attemptChanged(): ISignal<this, string> {
    return this._attemptChanged;
  }

  /** The path of an attempt for which the server has just been asked for something. */
  get acted(): ISignal<this, string> {
    return this._acted;
  }

  /** Say that the server was asked for something that its files show later. */
  tellActed(path: string): void {
    this._acted.emit(path);
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  status: IStatus | null = null;
  suites: ISuite[] = [];
  problem: string | null = null;
  /** The suites are here; the attempts may still be on their way. */
  suitesRead = false;
  loaded = false;
  /** What is chosen to be compared. */
  readonly picks = new Picks();
  readonly lives = new Map<string, ILive>();
  readonly attempts = new Map<string, IAttempt>();

  /** Path of the attempt that the person looks at. */
  get current(): string | null {
    return this._current;
  }
  set current(path: string | null) {
    if (path !== this._current) {
      this._current = path;
      this._changed.emit();
    }
  }

  get catalog(): Catalog {
    this._catalog = this._catalog ?? new Catalog(this.suites, this.attempts.values());
    return this._catalog;
  }

  /** Read everything anew. */
  async refresh(): Promise<void> {
    try {
      [this.status, this.suites] = await Promise.all([this.api.status(), this.api.suites()]);
      if (!this.loaded) {
        // Ten thousand attempts take longer to list than the suites, which are shown meanwhile.
        this._catalog = null;
        this.suitesRead = true;
        this._changed.emit();
      }
      const listed = await this.api.attempts();
      this.attempts.clear();
      listed.attempts.forEach(attempt => this.attempts.set(attempt.path, attempt));
      this.lives.clear();
      Object.entries(listed.live).forEach(([path, live]) => this.lives.set(path, live));
      this.problem = null;
      this.feed.start(listed.epoch, listed.seq);
    } catch (problem) {
      this.problem = (problem as Error).message;
    }
    this.loaded = true;
    this._catalog = null;
    this._changed.emit();
  }

  /** What is known of an attempt, with its paper's own name: published records have no more than its number. */
  named(detail: IDetail): IDetail {
    const { attempt } = detail;
    const paper = attempt.imported ? this.catalog.paper(`${attempt.suite}/${attempt.paper}`) : undefined;
    return paper === undefined ? detail : { ...detail, attempt: { ...attempt, paper: paper.id, title: paper.title } };
  }

  /** The attempt whose notebook the file browser opens by a path, null when it is none. */
  attemptOf(contentsPath: string): string | null {
    const runs = this.status?.runs_path;
    const path = contentsPath.replace(/^[A-Za-z]+:/, '');
    if (runs === null || runs === undefined || !path.endsWith('/attempt.ipynb')) {
      return null;
    }
    const start = runs === '.' || runs === '' ? '' : `${runs}/`;
    const name = path.slice(start.length, -'/attempt.ipynb'.length);
    return path.startsWith(start) && name.split('/').length === 5 ? name : null;
  }

  /** The path by which the file browser opens an attempt's notebook, null when it cannot. */
  contentsOf(attempt: string): string | null {
    const runs = this.status?.runs_path;
    if (runs === null || runs === undefined) {
      return null;
    }
    return `${runs === '.' ? '' : `${runs}/`}${attempt}/attempt.ipynb`;
  }

  dispose(): void {
    this._disposed = true;
    this._tell.dispose();
    this.feed.dispose();
    Signal.clearData(this);
  }

  private _onMessage(_: Feed, message: Message): void {
    switch (message.type) {
      case 'reload':
        void this.refresh();
        return;
      case 'attempt':
        this.attempts.set(message.attempt.path, message.attempt);
        if (message.attempt.state !== 'running') {
          this.lives.delete(message.attempt.path);
        }
        this._attemptChanged.emit(message.attempt.path);
        break;
      case 'gone':
        this.attempts.delete(message.path);
        if (this.picks.has(message.path)) {
          this.picks.toggle(message.path);
        }
        this.lives.delete(message.path);
        break;
      case 'live':
        this.lives.set(message.path, message);
        break;
      default:
        return;
    }
    void this._tell.invoke();
  }

  private _changed = new Signal<this, void>(this);
  private _attemptChanged = new Signal<this, string>(this);
  private _acted = new Signal<this, string>(this);
  private _tell: Debouncer;
  private _catalog: Catalog | null = null;
  private _current: string | null = null;
  private _disposed = false;
}
