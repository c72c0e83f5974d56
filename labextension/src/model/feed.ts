import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';
import { Api } from '../api';
import { IAttempt, IEvent, ILive } from '../tokens';

export type Message =
  | { type: 'attempt'; seq: number; attempt: IAttempt }
  | { type: 'gone'; seq: number; path: string }
  | ({ type: 'live'; seq: number; path: string } & ILive)
  | { type: 'reload'; seq?: number }
  | { type: 'record'; path: string; events: IEvent[] };

const SOONEST = 500;
const LATEST = 15000;

/**
 * The connection to what happens. It comes back by itself and asks for what it missed; where that is not there any
 * more it says `reload`.
 */
export class Feed implements IDisposable {
  constructor(private _api: Api) {}

  get message(): ISignal<this, Message> {
    return this._message;
  }

  get connectedChanged(): ISignal<this, boolean> {
    return this._connectedChanged;
  }

  get connected(): boolean {
    return this._connected;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** Go on from a place that a list of attempts was read at. */
  start(epoch: string, seq: number): void {
    this._epoch = epoch;
    this._seq = seq;
    if (this._socket === null && this._timer === 0) {
      this._connect();
    }
  }

  /** Be sent the events of an attempt, from a place in its stream on. */
  follow(path: string, since: number): IDisposable {
    const count = (this._follows.get(path)?.count ?? 0) + 1;
    this._follows.set(path, { since, count });
    this._send({ follow: path, since });
    let done = false;
    return {
      get isDisposed() {
        return done;
      },
      dispose: () => {
        const now = this._follows.get(path);
        if (done || !now) {
          return;
        }
        done = true;
        now.count -= 1;
        if (now.count <= 0) {
          this._follows.delete(path);
          this._send({ unfollow: path });
        }
      }
    };
  }

  dispose(): void {
    this._disposed = true;
    window.clearTimeout(this._timer);
    this._socket?.close();
    Signal.clearData(this);
  }

  private _connect(): void {
    this._timer = 0;
    const socket = new this._api.settings.WebSocket(this._api.feedUrl(this._epoch, this._seq));
    this._socket = socket;
    socket.onopen = () => {
      this._wait = SOONEST;
      this._setConnected(true);
      for (const [path, { since }] of this._follows) {
        this._send({ follow: path, since });
      }
    };
    socket.onmessage = event => this._take(JSON.parse(String(event.data)));
    socket.onclose = () => {
      this._socket = null;
      this._setConnected(false);
      if (!this._disposed) {
        this._timer = window.setTimeout(() => this._connect(), this._wait);
        this._wait = Math.min(LATEST, this._wait * 2);
      }
    };
  }

  private _take(data: any): void {
    if (typeof data.seq === 'number' && data.type !== 'hello') {
      this._seq = data.seq;
    }
    if (data.type === 'hello') {
      if (data.missed && this._epoch !== null) {
        this._message.emit({ type: 'reload' });
      }
      if (data.epoch !== this._epoch) {
        this._epoch = data.epoch;
        this._seq = data.seq;
      }
    } else if (data.type === 'record') {
      const follow = this._follows.get(data.path);
      const last = data.events[data.events.length - 1];
      if (follow && last) {
        follow.since = last.seq + 1;
      }
      this._message.emit(data);
    } else if (data.type !== 'problem') {
      this._message.emit(data);
    }
  }

  private _send(message: object): void {
    if (this._socket?.readyState === 1) {
      this._socket.send(JSON.stringify(message));
    }
  }

  private _setConnected(connected: boolean): void {
    if (connected !== this._connected) {
      this._connected = connected;
      this._connectedChanged.emit(connected);
    }
  }

  private _message = new Signal<this, Message>(this);
  private _connectedChanged = new Signal<this, boolean>(this);
  private _follows = new Map<string, { since: number; count: number }>();
  private _socket: WebSocket | null = null;
  private _epoch: string | null = null;
  private _seq = 0;
  private _wait = SOONEST;
  private _timer = 0;
  private _connected = false;
  private _disposed = false;
}
