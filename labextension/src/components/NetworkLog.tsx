import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { Api } from '../api';
import { INetwork, INetworkRequest } from '../tokens';
import { Pager } from './Texts';

const SIZE = 50;

interface IProps {
  api: Api;
  path: string;
  /** Changes whenever the record may have grown. */
  stamp: string;
  jump: (cell: string | null, output: number | null, text: string, line: string) => void;
  trans: TranslationBundle;
}

interface IState {
  log: INetwork | null;
  only: '' | 'refused' | 'allowed';
  problem: string | null;
  busy: boolean;
}

/** What the cells asked of the network, what was let through and what was refused. */
export class NetworkLog extends React.Component<IProps, IState> {
  state: IState = { log: null, only: '', problem: null, busy: false };

  componentDidMount(): void {
    void this._read(0);
  }

  componentDidUpdate(before: IProps): void {
    if (before.stamp !== this.props.stamp) {
      void this._read(this.state.log?.start ?? 0);
    }
  }

  render(): React.ReactNode {
    const { trans } = this.props;
    const { log, only, problem, busy } = this.state;
    if (problem !== null) {
      return (
        <p className="jp-reclaim-error" role="alert">
          {problem}{' '}
          <button className="jp-reclaim-Link" onClick={() => void this._read(0)}>
            {trans.__('Try again')}
          </button>
        </p>
      );
    }
    if (log === null) {
      return <p className="jp-reclaim-dim">{trans.__('Reading the network log…')}</p>;
    }
    const notes = log.notes.map((note, index) => (
      <p key={index} className="jp-reclaim-dim">
        {note}
      </p>
    ));
    if (log.allowed + log.refused === 0) {
      return (
        <>
          <p className="jp-reclaim-dim">{this._empty(log)}</p>
          {notes}
        </>
      );
    }
    const hosts = trans._n('%1 host', '%1 hosts', log.hosts.length);
    return (
      <div className="jp-reclaim-Network" aria-busy={busy}>
        <div className="jp-reclaim-Network-head">
          <span>
            {trans.__('Requests: %1 allowed, %2 refused; to %3.', log.allowed, log.refused, hosts)}{' '}
            <span className="jp-reclaim-dim">
              {log.policy === 'allowlist' && trans.__('Allowed: %1.', log.allow.join(', ') || trans.__('nothing'))}
            </span>
          </span>
          <select
            className="jp-reclaim-Select"
            aria-label={trans.__('Which requests are shown')}
            value={only}
            onChange={event => this.setState({ only: event.target.value as IState['only'] }, () => void this._read(0))}
          >
            <option value="">{trans.__('all requests')}</option>
            <option value="refused">{trans.__('refused')}</option>
            <option value="allowed">{trans.__('allowed')}</option>
          </select>
        </div>
        {notes}
        {log.total === 0 ? (
          <p className="jp-reclaim-dim">{trans.__('None of these.')}</p>
        ) : (
          <table>
            <thead>
              <tr>
                <th scope="col">{trans.__('time, UTC')}</th>
                <th scope="col">{trans.__('cell')}</th>
                <th scope="col">{trans.__('what was asked for')}</th>
                <th scope="col">{trans.__('what came of it')}</th>
              </tr>
            </thead>
            <tbody>{log.entries.map((entry, index) => this._request(entry, log.start + index))}</tbody>
          </table>
        )}
        <Pager
          start={log.start}
          shown={log.entries.length}
          total={log.total}
          busy={busy}
          size={SIZE}
          go={start => void this._read(start)}
          what={trans.__('Parts of the network log')}
          trans={trans}
        />
      </div>
    );
  }

  private _request(entry: INetworkRequest, key: number): React.ReactNode {
    const { trans, jump } = this.props;
    const where = `${entry.host ?? ''}${entry.port === null ? '' : `:${entry.port}`}`;
    const asked =
      entry.via === 'name'
        ? trans.__('the address of %1', entry.host ?? '?')
        : where === ''
          ? trans.__('somewhere past the proxy')
          : `${where}${entry.path ?? ''}`;
    return (
      <tr key={key} className={entry.allowed ? '' : 'jp-mod-refused'}>
        <td className="jp-reclaim-dim" title={entry.time}>
          {entry.time.slice(11, 19)}
        </td>
        <td>
          {entry.cell === null ? (
            <span className="jp-reclaim-dim">{trans.__('between cells')}</span>
          ) : (
            <button className="jp-reclaim-Link" onClick={() => jump(entry.cell, null, '', '')}>
              {entry.turn === null ? entry.cell : trans.__('turn %1', entry.turn)}
            </button>
          )}
        </td>
        <td>
          {entry.method !== null && entry.method !== 'GET' && <span className="jp-reclaim-dim">{entry.method} </span>}
          <code>{asked}</code>
          {entry.count > 1 && <span className="jp-reclaim-dim"> {trans.__('%1 times', entry.count)}</span>}
        </td>
        <td>
          <span className={entry.allowed ? 'jp-reclaim-good' : 'jp-reclaim-error'}>
            {entry.allowed ? trans.__('✓ allowed') : trans.__('✗ refused')}
          </span>{' '}
          <span className="jp-reclaim-dim">
            {[entry.reason, entry.allowed && entry.status !== null ? trans.__('status %1', entry.status) : '']
              .filter(Boolean)
              .join(' · ')}
          </span>
        </td>
      </tr>
    );
  }

  private _empty(log: INetwork): string {
    const { trans } = this.props;
    if (log.kernel === 'local') {
      return trans.__(
        'There is no log: the cells ran as a plain process, which reaches whatever this machine does. An attempt in a container has one.'
      );
    }
    switch (log.policy) {
      case 'none':
        return trans.__('There was no network: the container had none, so nothing could be asked for.');
      case 'allowlist':
        return trans.__(
          'Nothing was asked for. These hosts could have been reached: %1.',
          log.allow.join(', ') || trans.__('none')
        );
      default:
        return trans.__(
          'The network was open, and what went over it was not kept. An attempt with the network “allowlist” has a log.'
        );
    }
  }

  private async _read(start: number): Promise<void> {
    const { api, path } = this.props;
    this.setState({ busy: true });
    try {
      const log = await api.network(path, { start, count: SIZE, only: this.state.only || undefined });
      this.setState({ log, problem: null, busy: false });
    } catch (problem) {
      this.setState({ problem: (problem as Error).message, busy: false });
    }
  }
}
