import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { Api } from '../api';
import { cellSeconds, span } from '../format';
import { isHarness, ITalkRow, rowsOf, turnOf } from '../model/talk';
import { term } from '../terms';
import { IConversation, IEntry } from '../tokens';
import { OutputText, Pager, RecordText } from './Texts';

const SIZE = 40;

interface IProps {
  api: Api;
  path: string;
  /** Changes whenever the record may have grown. */
  stamp: string;
  /** Code cells that have run, to go to. */
  cells: { id: string; turn: number | null; author: string; source: string }[];
  jump: (cell: string | null, output: number | null, text: string, line: string) => void;
  trans: TranslationBundle;
}

interface IState {
  window: IConversation | null;
  problem: string | null;
  busy: boolean;
}

/** What the agent said and called, beside the cells it wrote; a window of it. */
export class Conversation extends React.Component<IProps, IState> {
  state: IState = { window: null, problem: null, busy: false };

  componentDidMount(): void {
    void this._read({ start: 0 });
  }

  componentDidUpdate(before: IProps): void {
    const { window } = this.state;
    // Whoever looks at the end stays at the end; elsewhere nothing that is shown can have changed.
    if (before.stamp !== this.props.stamp && window !== null && !window.ended) {
      const atEnd = window.start + window.entries.length >= window.total;
      void this._read({ start: window.start }, atEnd);
    }
  }

  /** Show what belongs to a cell, in the window around it. */
  private async _show(cell: string): Promise<void> {
    const find = () => this._node.current?.querySelector<HTMLElement>(`[data-cell="${CSS.escape(cell)}"]`);
    if (!find()) {
      await this._read({ cell });
    }
    find()?.scrollIntoView({ block: 'center' });
    find()?.focus();
  }

  render(): React.ReactNode {
    const { trans } = this.props;
    const { window, problem, busy } = this.state;
    if (problem !== null) {
      return (
        <p className="jp-reclaim-error" role="alert">
          {problem}{' '}
          <button className="jp-reclaim-Link" onClick={() => void this._read({ start: window?.start ?? 0 })}>
            {trans.__('Try again')}
          </button>
        </p>
      );
    }
    if (window === null) {
      return <p className="jp-reclaim-dim">{trans.__('Reading the conversation…')}</p>;
    }
    if (window.total === 0) {
      return <p className="jp-reclaim-dim">{trans.__('Nothing has been said or run yet.')}</p>;
    }
    const pager = (
      <Pager
        start={window.start}
        shown={window.entries.length}
        total={window.total}
        busy={busy}
        size={SIZE}
        go={start => void this._read({ start })}
        what={trans.__('Parts of the conversation')}
        trans={trans}
      />
    );
    return (
      <div className="jp-reclaim-Talk" ref={this._node} aria-busy={busy}>
        {this._turns()}
        {pager}
        <div role="list">{rowsOf(window.entries).map(row => this._row(row))}</div>
        {window.entries.length > 10 && pager}
      </div>
    );
  }

  private _turns(): React.ReactNode {
    const { trans } = this.props;
    const cells = this.props.cells.filter(cell => cell.author !== 'harness');
    return (
      cells.length > 1 && (
        <select
          className="jp-reclaim-Select"
          aria-label={trans.__('Go to a turn')}
          value=""
          onChange={event => void this._show(event.target.value)}
        >
          <option value="">{trans.__('go to a turn…')}</option>
          {cells.map(cell => (
            <option key={cell.id} value={cell.id}>
              {`${cell.turn ?? ''} ${cell.source.split('\n')[0].slice(0, 60)}`}
            </option>
          ))}
        </select>
      )
    );
  }

  private _row(row: ITalkRow): React.ReactNode {
    const { trans } = this.props;
    const turn = turnOf(row);
    const first = row.words[0];
    if (row.cell === null && first?.kind === 'event') {
      return (
        <div key={row.key} role="listitem" className="jp-reclaim-Talk-event">
          {this._event(first)}
        </div>
      );
    }
    const harness = (row.cell ?? first) && (row.cell !== null ? isHarness(row.cell) : row.words.every(isHarness));
    const label = harness
      ? trans.__('written by the harness')
      : turn === null
        ? trans.__('before the first turn')
        : trans.__('turn %1', turn);
    return (
      <div
        key={row.key}
        role="listitem"
        aria-label={label}
        className={`jp-reclaim-Talk-row${harness ? ' jp-mod-harness' : ''}`}
        data-cell={row.cell?.cell ?? undefined}
        tabIndex={-1}
      >
        <div className="jp-reclaim-Talk-words">{row.words.map(entry => this._words(entry))}</div>
        <div className="jp-reclaim-Talk-cell">
          {row.cell !== null &&
            (isHarness(row.cell) ? (
              <details className="jp-reclaim-Talk-folded">
                <summary>
                  {this._harnessCell(row.cell)} {beginning(row.cell)}
                </summary>
                {this._cell(row.cell)}
              </details>
            ) : (
              this._cell(row.cell)
            ))}
          {row.calls.map(entry => this._call(entry))}
        </div>
      </div>
    );
  }

  private _words(entry: IEntry): React.ReactNode {
    const { trans, jump } = this.props;
    const whole = () => void this._whole(entry);
    if (entry.kind === 'call') {
      return this._call(entry);
    }
    const text = <RecordText text={entry.text} whole={whole} className="jp-mod-prose" trans={trans} />;
    if (entry.kind === 'said') {
      return (
        <div key={entry.index} className="jp-reclaim-Talk-said">
          {text}
        </div>
      );
    }
    if (entry.kind === 'markdown' && !isHarness(entry)) {
      return (
        <div key={entry.index} className="jp-reclaim-Talk-said">
          {text}
          <button className="jp-reclaim-Link" onClick={() => jump(entry.cell, null, '', '')}>
            {trans.__('Show this Markdown cell')}
          </button>
        </div>
      );
    }
    const title =
      entry.kind === 'thought'
        ? trans.__('What the model thought')
        : entry.kind === 'markdown'
          ? this._harnessCell(entry)
          : entry.name === 'system-prompt'
            ? trans.__('What the model was told it is')
            : trans.__('What the model was told');
    return (
      <details key={entry.index} className="jp-reclaim-Talk-folded">
        <summary>
          {title} {beginning(entry)}
        </summary>
        {text}
      </details>
    );
  }

  private _harnessCell(entry: IEntry): string {
    return this.props.trans.__('The harness’s cell %1', entry.cell ?? '');
  }

  private _call(entry: IEntry): React.ReactNode {
    const { trans } = this.props;
    const whole = () => void this._whole(entry);
    return (
      <div key={entry.index} className={`jp-reclaim-Talk-call${entry.refused ? ' jp-mod-refused' : ''}`}>
        <div>
          <code>{entry.name}</code> {entry.refused && <span className="jp-reclaim-error">{trans.__('✗ refused')}</span>}
        </div>
        {entry.text.text !== '' && <RecordText text={entry.text} whole={whole} trans={trans} />}
        {entry.result !== null && entry.result.text !== '' && (
          <div className="jp-reclaim-Talk-result">
            <span className="jp-reclaim-dim" aria-label={trans.__('gave back')}>
              →
            </span>
            <div>
              <RecordText text={entry.result} whole={whole} trans={trans} />
            </div>
          </div>
        )}
      </div>
    );
  }

  private _cell(entry: IEntry): React.ReactNode {
    const { trans, jump } = this.props;
    const facts = entry.facts;
    const status = facts?.status ?? '';
    const failed = !['ok', 'running', 'not_run'].includes(status);
    return (
      <article className="jp-reclaim-Talk-code">
        <header>
          <span>{entry.turn === null ? term(entry.author, trans) : trans.__('turn %1', entry.turn)}</span>
          <span className={failed ? 'jp-reclaim-error' : 'jp-reclaim-dim'}>
            {failed ? `✗ ${term(status, trans)}` : term(status, trans)}
          </span>
          {facts !== null && facts.started !== null && (
            <span className="jp-reclaim-dim">
              {trans.__('ran %1, charged %2', cellSeconds(facts.held), cellSeconds(facts.charged))}
              {facts.hours !== null && ` · ${trans.__('spent %1 by then', span(facts.hours))}`}
            </span>
          )}
          <button
            className="jp-reclaim-Link"
            onClick={() => jump(entry.cell, null, '', entry.text.text.split('\n')[0])}
            title={trans.__('Show this cell in the notebook')}
          >
            {trans.__('Show')}
          </button>
        </header>
        <RecordText text={entry.text} whole={() => void this._whole(entry)} className="jp-mod-code" trans={trans} />
        {entry.output !== null && <OutputText output={entry.output} trans={trans} />}
      </article>
    );
  }

  private _event(entry: IEntry): string {
    const { trans } = this.props;
    const text = entry.text.text;
    switch (entry.name) {
      case 'end':
        return trans.__('The attempt ended: %1', term(text, trans));
      case 'limit':
        return trans.__('A limit was reached: %1', term(text, trans));
      case 'resumed':
        return trans.__('Another runner took the attempt and went on.');
      case 'failure':
        return trans.__('The model’s service failed: %1', text);
      case 'shortened':
        return trans.__('Older outputs were sent shortened from here on, to fit the model’s window.');
      case 'exited':
        return trans.__('The agent’s command ended with code %1.', text);
      default:
        return `${term(entry.name, trans)}: ${text}`;
    }
  }

  private async _whole(entry: IEntry): Promise<void> {
    const { api, path } = this.props;
    try {
      const found = await api.conversation(path, { start: entry.index, whole: true });
      const { window } = this.state;
      if (window !== null && found.entries.length === 1) {
        const entries = window.entries.map(one => (one.index === entry.index ? found.entries[0] : one));
        this.setState({ window: { ...window, entries } });
      }
    } catch (problem) {
      this.setState({ problem: (problem as Error).message });
    }
  }

  private async _read(where: { start?: number; cell?: string }, end = false): Promise<void> {
    const { api, path } = this.props;
    this.setState({ busy: true });
    try {
      let window = await api.conversation(path, { ...where, count: SIZE });
      if (end && window.start + window.entries.length < window.total) {
        window = await api.conversation(path, { start: Math.max(0, window.total - SIZE), count: SIZE });
      }
      await new Promise<void>(done => this.setState({ window, problem: null, busy: false }, done));
    } catch (problem) {
      this.setState({ problem: (problem as Error).message, busy: false });
    }
  }

  private _node = React.createRef<HTMLDivElement>();
}

function beginning(entry: IEntry): React.ReactElement {
  const line = entry.text.text.split('\n').find(one => /\w/.test(one)) ?? '';
  return <span className="jp-reclaim-dim">{line.slice(0, 80)}</span>;
}
