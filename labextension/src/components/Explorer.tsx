import { TranslationBundle } from '@jupyterlab/translation';
import { caretDownIcon, caretRightIcon, stopIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { OUTCOMES, agentName, hoursLine, markOf, quantity, sentence, span, spend, deviceUnit } from '../format';
import { BatchesModel, standings, STOPPED, withBatches } from '../model/batches';
import { ICounts, Item, Sort } from '../model/catalog';
import { RunsModel } from '../model/runs';
import { term } from '../terms';
import { IAttempt, IPaper } from '../tokens';
import { BatchRow } from './BatchRow';
import { BudgetBar } from './BudgetBar';
import { Mark } from './Mark';
import { PickBar, PickBox } from './Picks';
import { VirtualList } from './VirtualList';

export interface IActions {
  open(attempt: IAttempt): void;
  openCard(paper: IPaper): void;
  start(paper: string | null): void;
  stop(attempt: IAttempt): void;
  compare(left: string, right: string): void;
  stopBatch(folder: string): void;
  resumeBatch(folder: string): void;
}

const HEIGHTS: { [kind in Item['kind']]: number } = {
  'running-header': 28,
  running: 66,
  batch: 66,
  'stopped-header': 28,
  tier: 28,
  paper: 42,
  attempt: 24,
  problem: 42
};

/** Most marks that are drawn beside a paper; the rest is counted. */
const MARKS = 8;

interface IState {
  text: string;
  outcome: string;
  sort: Sort;
  onlyTried: boolean;
  closed: Set<string>;
  open: Set<string>;
  active: string | null;
}

/** The panel: what is running, then suites by tier with their papers and attempts. */
export class Explorer extends React.Component<
  { model: RunsModel; batches: BatchesModel; actions: IActions; trans: TranslationBundle },
  IState
> {
  state: IState = {
    text: '',
    outcome: '',
    sort: 'name',
    onlyTried: false,
    closed: new Set(),
    open: new Set(),
    active: null
  };

  componentDidMount(): void {
    this.props.model.changed.connect(this._update, this);
    this.props.model.picks.changed.connect(this._update, this);
    this.props.batches.changed.connect(this._update, this);
  }

  componentWillUnmount(): void {
    this.props.model.changed.disconnect(this._update, this);
    this.props.model.picks.changed.disconnect(this._update, this);
    this.props.batches.changed.disconnect(this._update, this);
  }

  render(): React.ReactNode {
    const { model, trans } = this.props;
    if (model.problem !== null) {
      return (
        <div className="jp-reclaim-Explorer-empty" role="alert">
          <p>{model.problem}</p>
          <button className="jp-mod-styled jp-mod-minimal" onClick={() => void model.refresh()}>
            {trans.__('Try again')}
          </button>
        </div>
      );
    }
    if (!model.loaded && !model.suitesRead) {
      return <div className="jp-reclaim-Explorer-empty">{trans.__('Reading suites and attempts…')}</div>;
    }
    const asked = this.state.text !== '' || this.state.outcome !== '' || this.state.onlyTried;
    const { running, all } = this.props.batches;
    const items = withBatches(
      model.catalog.items(this.state, model.lives),
      standings(asked ? running : all, model.attempts.values()), // what is looked for is no batch that was stopped
      this.state.open.has(STOPPED)
    );
    this._items = items;
    return (
      <div className="jp-reclaim-Explorer">
        {this._filter()}
        {!model.loaded && (
          <div className="jp-reclaim-Explorer-reading" role="status">
            {trans.__('Reading the attempts…')}
          </div>
        )}
        {model.loaded && !model.feed.connected && (
          <div className="jp-reclaim-Explorer-note" role="status">
            {trans.__('Not connected: what is shown may be old. Trying again…')}
          </div>
        )}
        {items.length === 0 ? (
          <div className="jp-reclaim-Explorer-empty">
            {asked ? (
              <>
                <p>{trans.__('Nothing fits the filter.')}</p>
                <button
                  className="jp-mod-styled jp-mod-minimal"
                  onClick={() => this.setState({ text: '', outcome: '', onlyTried: false })}
                >
                  {trans.__('Show everything')}
                </button>
              </>
            ) : (
              <p>
                {trans.__(
                  'No suite was found. Name a folder of suites in RECLAIM_PAPERS or ReclaimServer.papers_dirs, and start the server again.'
                )}
              </p>
            )}
          </div>
        ) : (
          <VirtualList
            ref={this._list}
            items={items}
            heightOf={item => HEIGHTS[item.kind]}
            render={(item, index) => this._row(item, index)}
            className="jp-reclaim-Explorer-list"
            reveal={this.state.active}
            attributes={{
              role: 'tree',
              tabIndex: 0,
              'aria-label': trans.__('Suites, papers and attempts'),
              'aria-activedescendant': this.state.active ? domId(this.state.active) : undefined,
              onKeyDown: this._onKey,
              onFocus: () => this.state.active === null && items.length > 0 && this._setActive(items[0].key)
            }}
          />
        )}
        <PickBar model={model} compare={this.props.actions.compare} trans={trans} />
        {model.loaded && model.catalog.count === 0 && items.length > 0 && !asked && (
          <div className="jp-reclaim-Explorer-hint">
            <p>{trans.__('No attempt has been made yet.')}</p>
            <button className="jp-mod-styled jp-mod-accept" onClick={() => this.props.actions.start(null)}>
              {trans.__('Make an attempt…')}
            </button>
          </div>
        )}
      </div>
    );
  }

  private _filter(): React.ReactNode {
    const { trans } = this.props;
    return (
      <div className="jp-reclaim-Explorer-filter" role="search">
        <input
          className="jp-mod-styled"
          type="search"
          spellCheck={false}
          placeholder={trans.__('Filter papers, agents, outcomes…')}
          aria-label={trans.__('Filter papers, agents and outcomes')}
          value={this.state.text}
          onChange={event => this.setState({ text: event.target.value })}
          onKeyDown={event => {
            if (event.key === 'ArrowDown' || event.key === 'Enter') {
              event.preventDefault();
              this._list.current?.focus();
            } else if (event.key === 'Escape') {
              this.setState({ text: '' });
            }
          }}
        />
        <div className="jp-reclaim-Explorer-choices">
          <select
            aria-label={trans.__('Outcome')}
            title={trans.__('Show attempts of one outcome')}
            value={this.state.outcome}
            onChange={event => this.setState({ outcome: event.target.value })}
          >
            <option value="">{trans.__('all outcomes')}</option>
            {[...OUTCOMES, 'running', 'dead_runner', 'not_counted'].map(outcome => (
              <option key={outcome} value={outcome}>
                {term(outcome, trans)}
              </option>
            ))}
          </select>
          <select
            aria-label={trans.__('Order')}
            title={trans.__('Order of the papers')}
            value={this.state.sort}
            onChange={event => this.setState({ sort: event.target.value as Sort })}
          >
            <option value="name">{trans.__('by name')}</option>
            <option value="recent">{trans.__('latest first')}</option>
            <option value="rate">{trans.__('by success')}</option>
            <option value="need">{trans.__('by need')}</option>
          </select>
          <label title={trans.__('Leave out papers without an attempt')}>
            <input
              type="checkbox"
              checked={this.state.onlyTried}
              onChange={event => this.setState({ onlyTried: event.target.checked })}
            />
            {trans.__('tried')}
          </label>
        </div>
      </div>
    );
  }

  private _row(item: Item, index: number): React.ReactNode {
    const active = item.key === this.state.active;
    const common = {
      id: domId(item.key),
      role: 'treeitem',
      'aria-posinset': index + 1,
      'aria-setsize': this._items.length,
      'aria-selected': active
    };
    const base = `jp-reclaim-Row${active ? ' jp-mod-active' : ''}`;
    const { trans, model } = this.props;
    switch (item.kind) {
      case 'running-header':
        return (
          <div {...common} aria-level={1} className={`${base} jp-mod-header`}>
            <span>{trans.__('Running')}</span>
            <span className="jp-reclaim-Row-right">
              {model.status ? trans.__('%1 of %2 slots', item.count, model.status.slots) : item.count}
            </span>
          </div>
        );
      case 'running':
        return this._running(item, common, base);
      case 'batch':
        return (
          <div {...common} aria-level={2} className={`${base} jp-mod-running`}>
            <BatchRow
              standing={item.standing}
              stop={() => this.props.actions.stopBatch(item.standing.batch.folder)}
              resume={() => this.props.actions.resumeBatch(item.standing.batch.folder)}
              trans={trans}
            />
          </div>
        );
      case 'stopped-header':
        return (
          <div
            {...common}
            aria-level={1}
            aria-expanded={item.open}
            className={`${base} jp-mod-header jp-mod-clickable`}
            title={trans.__('Batches that nobody is at work on, though attempts of theirs are missing')}
            onClick={() => this._toggle(item)}
          >
            <span className="jp-reclaim-Row-caret">
              {item.open ? <caretDownIcon.react tag="span" /> : <caretRightIcon.react tag="span" />}
            </span>
            <span>{trans.__('Unfinished batches')}</span>
            <span className="jp-reclaim-Row-right">{item.count}</span>
          </div>
        );
      case 'tier':
        return (
          <div
            {...common}
            aria-level={1}
            aria-expanded={item.open}
            className={`${base} jp-mod-header jp-mod-clickable`}
            onClick={() => this._toggle(item)}
          >
            <span className="jp-reclaim-Row-caret">
              {item.open ? <caretDownIcon.react tag="span" /> : <caretRightIcon.react tag="span" />}
            </span>
            <span>
              {item.suite} <span className="jp-reclaim-dim">·</span> {item.tier}
            </span>
            <span className="jp-reclaim-Row-right" title={countsTitle(item.counts, item.papers, trans)}>
              {item.counts.counted > 0
                ? `${item.counts.reproduced} / ${item.counts.counted}`
                : trans._n('%1 paper', '%1 papers', item.papers)}
            </span>
          </div>
        );
      case 'paper':
        return this._paper(item, common, base);
      case 'attempt':
        return this._attempt(item, common, base);
      default:
        return (
          <div {...common} aria-level={2} className={`${base} jp-mod-problem`} title={item.text}>
            {item.text}
          </div>
        );
    }
  }

  private _running(item: Extract<Item, { kind: 'running' }>, common: object, base: string): React.ReactNode {
    const { trans, actions, model } = this.props;
    const { attempt, live, paper } = item;
    const spent = live?.spent_hours ?? attempt.spent_hours;
    const line = live ? (live.running ? live.line : trans.__('between cells (not charged)')) : trans.__('starting…');
    const shown = attempt.path === model.current;
    return (
      <div
        {...common}
        aria-level={2}
        className={`${base} jp-mod-running jp-mod-clickable jp-reclaim-attempt-item${shown ? ' jp-mod-current' : ''}`}
        data-path={attempt.path}
        onClick={() => this._open(item.key, attempt)}
      >
        <div className="jp-reclaim-Row-line">
          <span className="jp-reclaim-Row-name">
            <b>{attempt.paper}</b> · {agentName(attempt)}
          </span>
          <span className="jp-reclaim-Row-right">
            {live && live.turn !== null ? trans.__('turn %1', live.turn) : ''}
            <button
              className="jp-reclaim-IconButton"
              title={trans.__('Stop this attempt')}
              aria-label={trans.__('Stop this attempt')}
              tabIndex={-1}
              onClick={event => {
                event.stopPropagation();
                actions.stop(attempt);
              }}
            >
              <stopIcon.react tag="span" width="14px" height="14px" />
            </button>
          </span>
        </div>
        <BudgetBar
          spent={spent}
          budget={attempt.budget_hours}
          need={paper?.need_hours ?? null}
          unit={deviceUnit(attempt.device)}
          trans={trans}
        />
        <div className="jp-reclaim-Row-line jp-reclaim-dim">
          <span className="jp-reclaim-Row-name" title={line}>
            {line}
          </span>
          <span className="jp-reclaim-Row-right">{spend(attempt, trans, spent)}</span>
        </div>
      </div>
    );
  }

  private _paper(item: Extract<Item, { kind: 'paper' }>, common: object, base: string): React.ReactNode {
    const { paper, attempts } = item;
    const { trans } = this.props;
    const shown = attempts.slice(0, MARKS);
    const target = paper.target === null ? '' : `${paper.metric} ${quantity(paper.target, paper.unit)}`;
    const current = attempts.some(attempt => attempt.path === this.props.model.current);
    return (
      <div
        {...common}
        aria-level={2}
        aria-expanded={attempts.length > 0 ? item.open : undefined}
        className={`${base} jp-mod-paper jp-mod-clickable jp-reclaim-paper-item${current ? ' jp-mod-current' : ''}`}
        data-paper={paper.name}
        title={`${paper.title}\n${paper.criterion ? trans.__('reproduced if %1', paper.criterion) : ''}`}
        onClick={() => this._toggle(item)}
        onDoubleClick={() => this.props.actions.openCard(paper)}
      >
        <div className="jp-reclaim-Row-line">
          <span className="jp-reclaim-Row-name jp-mod-strong">{paper.id}</span>
          <span className="jp-reclaim-Row-right jp-reclaim-Row-marks">
            {attempts.length > MARKS && <span className="jp-reclaim-dim">+{attempts.length - MARKS}</span>}
            {shown.map(attempt => (
              <span
                key={attempt.path}
                className="jp-reclaim-Row-mark jp-reclaim-attempt-item"
                data-path={attempt.path}
                onClick={event => {
                  event.stopPropagation();
                  this._open(item.key, attempt);
                }}
              >
                <Mark mark={markOf(attempt)} title={sentence(attempt, trans)} trans={trans} />
              </span>
            ))}
          </span>
        </div>
        <div className="jp-reclaim-Row-line jp-reclaim-dim">
          <span className="jp-reclaim-Row-name">{target}</span>
          <span className="jp-reclaim-Row-right">
            {paper.audit === 'sound' ? (
              <span
                title={trans.__(
                  'need %1 by audit, budget %2, %3',
                  span(paper.need_hours),
                  span(paper.budget_hours),
                  paper.hours_unit
                )}
              >
                {hoursLine(paper, trans)}
              </span>
            ) : (
              <span className={`jp-reclaim-audit jp-mod-${paper.audit}`} title={paper.audit_reasons.join('\n')}>
                {trans.__('%1 card', term(paper.audit, trans))}
              </span>
            )}
          </span>
        </div>
      </div>
    );
  }

  private _attempt(item: Extract<Item, { kind: 'attempt' }>, common: object, base: string): React.ReactNode {
    const { attempt } = item;
    const { trans } = this.props;
    const mark = markOf(attempt);
    const current = attempt.path === this.props.model.current;
    return (
      <div
        {...common}
        aria-level={3}
        aria-label={sentence(attempt, trans)}
        className={`${base} jp-mod-attempt jp-mod-clickable jp-reclaim-attempt-item${current ? ' jp-mod-current' : ''}`}
        data-path={attempt.path}
        aria-checked={this.props.model.picks.has(attempt.path)}
        title={sentence(attempt, trans)}
        onClick={event =>
          event.ctrlKey || event.metaKey ? this._pick(item.key, attempt) : this._open(item.key, attempt)
        }
      >
        <PickBox path={attempt.path} picks={this.props.model.picks} trans={trans} />
        <Mark mark={mark} title={term(mark, trans)} trans={trans} />
        <span className="jp-reclaim-Row-name">
          {agentName(attempt)}{' '}
          <span className="jp-reclaim-dim">
            {attempt.batch === 'single' || attempt.batch === 'lab' ? '' : `${attempt.batch} `}#{attempt.repeat}
          </span>
        </span>
        <span className="jp-reclaim-Row-right">
          {attempt.value !== null ? quantity(attempt.value, attempt.unit) : term(mark, trans)}
        </span>
      </div>
    );
  }

  private _open(key: string, attempt: IAttempt): void {
    this._setActive(key);
    this.props.actions.open(attempt);
  }

  private _pick(key: string, attempt: IAttempt): void {
    this._setActive(key);
    this.props.model.picks.toggle(attempt.path);
  }

  private _toggle(item: Item): void {
    this._setActive(item.key);
    if (item.kind === 'tier') {
      this.setState(({ closed }) => ({ closed: flipped(closed, item.key) }));
    } else if (item.kind === 'stopped-header') {
      this.setState(({ open }) => ({ open: flipped(open, item.key) }));
    } else if (item.kind === 'batch' && !item.standing.batch.running) {
      this.props.actions.resumeBatch(item.standing.batch.folder);
    } else if (item.kind === 'paper') {
      if (item.attempts.length === 0) {
        this.props.actions.openCard(item.paper);
      } else {
        this.setState(({ open }) => ({ open: flipped(open, item.key) }));
      }
    }
  }

  private _setActive(active: string): void {
    this.setState({ active });
  }

  private _onKey = (event: React.KeyboardEvent): void => {
    const items = this._items;
    const index = Math.max(
      0,
      items.findIndex(item => item.key === this.state.active)
    );
    const item = items[index];
    if (!item) {
      return;
    }
    const to = (next: number) => this._setActive(items[Math.min(items.length - 1, Math.max(0, next))].key);
    const page = 12;
    switch (event.key) {
      case 'ArrowDown':
        to(index + 1);
        break;
      case 'ArrowUp':
        to(index - 1);
        break;
      case 'PageDown':
        to(index + page);
        break;
      case 'PageUp':
        to(index - page);
        break;
      case 'Home':
        to(0);
        break;
      case 'End':
        to(items.length - 1);
        break;
      case 'ArrowRight':
        if ('open' in item && !item.open) {
          this._toggle(item);
        } else {
          to(index + 1);
        }
        break;
      case 'ArrowLeft':
        if ('open' in item && item.open) {
          this._toggle(item);
        } else {
          const level = rank(item);
          let up = index;
          while (up > 0 && rank(items[up]) >= level) {
            up -= 1;
          }
          to(up);
        }
        break;
      case 'Enter':
      case ' ':
        if (item.kind === 'attempt' && (event.ctrlKey || event.shiftKey)) {
          this._pick(item.key, item.attempt);
        } else if (item.kind === 'attempt' || item.kind === 'running') {
          this._open(item.key, item.attempt);
        } else {
          this._toggle(item);
        }
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  private _update(): void {
    this.forceUpdate();
  }

  private _items: Item[] = [];
  private _list = React.createRef<VirtualList<Item>>();
}

function rank(item: Item): number {
  return item.kind === 'attempt' ? 3 : ['tier', 'running-header', 'stopped-header'].includes(item.kind) ? 1 : 2;
}

function flipped(set: Set<string>, key: string): Set<string> {
  const next = new Set(set);
  if (!next.delete(key)) {
    next.add(key);
  }
  return next;
}

function domId(key: string): string {
  return `jp-reclaim-${key.replace(/[^A-Za-z0-9]/g, '-')}`;
}

function countsTitle(counts: ICounts, papers: number, trans: TranslationBundle): string {
  return [
    trans._n('%1 paper', '%1 papers', papers),
    trans.__('%1 of %2 attempts reproduced', counts.reproduced, counts.counted),
    trans.__('%1 of them ungraded', counts.ungraded),
    trans.__('%1 running', counts.running),
    trans.__('%1 ended by the harness or a person, in no rate', counts.notCounted)
  ].join('\n');
}
