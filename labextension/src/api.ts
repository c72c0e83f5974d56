import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import {
  IAttempt,
  IBatch,
  ICard,
  IComparison,
  IConversation,
  IDesk,
  IDeskAnswer,
  IDeskAsk,
  IDetail,
  ILive,
  INetwork,
  IOptions,
  IPlan,
  IRecord,
  IStart,
  IStatus,
  ISuite
} from './tokens';

/** The one error of requests: `message` says what happened and what to do, for people. */
export class RequestError extends Error {
  constructor(
    message: string,
    readonly status: number
  ) {
    super(message);
  }
}

export interface IListed {
  epoch: string;
  seq: number;
  attempts: IAttempt[];
  live: { [path: string]: ILive };
}

/** All requests to the server extension. */
export class Api {
  constructor(
    readonly settings: ServerConnection.ISettings,
    private _trans: TranslationBundle
  ) {}

  status = () => this._request<IStatus>('status');
  options = () => this._request<IOptions>('options');
  suites = async () => (await this._request<{ suites: ISuite[] }>('suites')).suites;
  attempts = () => this._request<IListed>('attempts');
  attempt = (path: string) => this._request<IDetail>(`attempts/${encoded(path)}`);
  record = (path: string) => this._request<IRecord>(`records/${encoded(path)}`);
  conversation = (path: string, query: IQuery) =>
    this._request<IConversation>(`conversations/${encoded(path)}${asked(query)}`);
  network = (path: string, query: IQuery) => this._request<INetwork>(`networks/${encoded(path)}${asked(query)}`);
  compare = (path: string, other: string, query: IQuery) =>
    this._request<IComparison>(`comparisons/${encoded(path)}${asked({ ...query, with: other })}`);
  card = (paper: string) => this._request<ICard>(`papers/${encoded(paper)}`);
  start = (body: IStart) => this._request<{ path: string; contents_path: string | null }>('attempts', body);
  act = (path: string, action: 'stop' | 'resume' | 'grade' | 'stop-reexecution') =>
    this._request<{ path: string }>(`actions/${encoded(path)}`, { action });
  reexecute = (path: string, whole: boolean) =>
    this._request<{ path: string }>(`actions/${encoded(path)}`, { action: 'reexecute', whole });
  desk = (path: string) => this._request<IDesk>(`desk/${encoded(path)}`);
  askDesk = (path: string, body: IDeskAsk) => this._request<IDeskAnswer>(`desk/${encoded(path)}`, body);
  plans = async (folder: string) =>
    (await this._request<{ plans: string[] }>(`plans?folder=${encodeURIComponent(folder)}`)).plans;
  plan = (path: string) => this._request<IPlan>(`plan?path=${encodeURIComponent(path)}`);
  batches = async () => (await this._request<{ batches: IBatch[] }>('batches')).batches;
  startBatch = (path: string) => this._request<{ folder: string }>('batches', { path });
  batchPlan = (folder: string) => this._request<IPlan>(`batches/${encodeURIComponent(folder)}`);
  actOnBatch = (folder: string, action: 'stop' | 'resume') =>
    this._request<{ folder: string }>(`batches/${encodeURIComponent(folder)}`, { action });

  /** Address of the feed, from a message on. */
  feedUrl(epoch: string | null, since: number): string {
    const query = new URLSearchParams();
    if (epoch !== null) {
      query.set('epoch', epoch);
      query.set('since', String(since));
    }
    if (this.settings.appendToken && this.settings.token) {
      query.set('token', this.settings.token);
    }
    return `${URLExt.join(this.settings.wsUrl, 'reclaim', 'api', 'events')}?${query}`;
  }

  private async _request<T>(address: string, body?: unknown): Promise<T> {
    const url = URLExt.join(this.settings.baseUrl, 'reclaim', 'api') + `/${address}`;
    const init: RequestInit = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    let response: Response;
    try {
      response = await ServerConnection.makeRequest(url, init, this.settings);
    } catch (problem) {
      throw new RequestError(this._trans.__('The Jupyter server does not answer. Is it still running?'), 0);
    }
    const text = await response.text();
    let answer: any = null;
    try {
      answer = text ? JSON.parse(text) : null;
    } catch {
      answer = null;
    }
    if (!response.ok || answer === null) {
      const absent = response.status === 404 && !answer?.message;
      throw new RequestError(
        absent
          ? this._trans.__('The server extension of RECLAIM is not enabled. See `jupyter server extension list`.')
          : (answer?.message ?? this._trans.__('The server answered %1.', response.status)),
        response.status
      );
    }
    return answer as T;
  }
}

/** Part of a long list: from `start` on, `count` of them; undefined values are left out. */
export interface IQuery {
  [name: string]: string | number | boolean | undefined;
}

function asked(query: IQuery): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

function encoded(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
