import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { BatchesModel, standings, STOPPED, withBatches } from '../model/batches';
import { Item } from '../model/catalog';
import { RunsModel } from '../model/runs';
import { IAttempt } from '../tokens';
import { EVERYTHING, ExplorerFilter, IAsked, isNarrowed } from './ExplorerFilter';
import { domId, ExplorerRow, HEIGHTS, IActions, IList } from './ExplorerRow';
import { PickBar } from './Picks';
import { VirtualList } from './VirtualList';

interface IState extends IAsked {
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
    ...EVERYTHING,
    sort: 'name',
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
    const asked = isNarrowed(this.state);
    const { running, all } = this.props.batches;
    const items = withBatches(
      model.catalog.items(this.state, model.lives),
      standings(asked ? running : all, model.attempts.values()), // what is looked for is no batch that was stopped
      this.state.open.has(STOPPED)
    );
    this._items = items;
    const list: IList = {
      model,
      actions: this.props.actions,
      trans,
      count: items.length,
      active: this.state.active,
      open: (key, attempt) => this._open(key, attempt),
      pick: (key, attempt) => this._pick(key, attempt),
      toggle: item => this._toggle(item)
    };
    return (
      <div className="jp-reclaim-Explorer">
        <ExplorerFilter
          asked={this.state}
          change={change => this.setState(change as IState)}
          leave={() => this._list.current?.focus()}
          trans={trans}
        />
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
                <button className="jp-mod-styled jp-mod-minimal" onClick={() => this.setState(EVERYTHING)}>
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
            render={(item, index) => <ExplorerRow item={item} index={index} list={list} />}
            className="jp-reclaim-Explorer-list"
            reveal={this.state.active}
            attributes={{
              role: 'tree',
              tabIndex: 0,
              'aria-label': trans.__('Suites, papers and attempts'),
              'aria-busy': !model.loaded || !this.props.batches.looked,
              'aria-activedescendant': this.state.active ? domId(this.state.active) : undefined,
              onKeyDown: this._onKey,
              onFocus: this._onFocus
            }}
          />
        )}
        {/* Below: what stands above the rows moves them under the pointer when it goes. */}
        {!model.loaded && (
          <div className="jp-reclaim-Explorer-reading" role="status">
            {trans.__('Reading the attempts…')}
          </div>
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
      // As long as the attempts are on their way nobody knows that a paper has none: what is opened shows them then.
      if (item.attempts.length === 0 && this.props.model.loaded) {
        this.props.actions.openCard(item.paper);
      } else {
        this.setState(({ open }) => ({ open: flipped(open, item.key) }));
      }
    }
  }

  private _setActive(active: string): void {
    this.setState({ active });
  }

  /** The first row, for keys. A press of the mouse chooses its own: going to the first would move it from under it. */
  private _onFocus = (event: React.FocusEvent): void => {
    if (this.state.active === null && this._items.length > 0 && event.currentTarget.matches(':focus-visible')) {
      this._setActive(this._items[0].key);
    }
  };

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
