import { TranslationBundle } from '@jupyterlab/translation';
import { caretDownIcon, caretRightIcon, stopIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { agentName, deviceUnit, hoursLine, markOf, quantity, sentence, span, spend } from '../format';
import { ICounts, Item } from '../model/catalog';
import { RunsModel } from '../model/runs';
import { term } from '../terms';
import { IAttempt, IPaper } from '../tokens';
import { BatchRow } from './BatchRow';
import { BudgetBar } from './BudgetBar';
import { Mark } from './Mark';
import { PickBox } from './Picks';

export interface IActions {
  open(attempt: IAttempt): void;
  openCard(paper: IPaper): void;
  start(paper: string | null): void;
  stop(attempt: IAttempt): void;
  compare(left: string, right: string): void;
  stopBatch(folder: string): void;
  resumeBatch(folder: string): void;
}

/** What a row knows of the list that it stands in. */
export interface IList {
  model: RunsModel;
  actions: IActions;
  trans: TranslationBundle;
  /** How many rows there are, and the key of the one that the keyboard is at. */
  count: number;
  active: string | null;
  open: (key: string, attempt: IAttempt) => void;
  pick: (key: string, attempt: IAttempt) => void;
  toggle: (item: Item) => void;
}

/** Pixels that a row takes. */
export const HEIGHTS: { [kind in Item['kind']]: number } = {
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

/** One row, as a screen reader and the eye have it. */
export function ExplorerRow(props: { item: Item; index: number; list: IList }): React.ReactElement {
  const { item, index, list } = props;
  const active = item.key === list.active;
  const common = {
    id: domId(item.key),
    role: 'treeitem',
    'aria-posinset': index + 1,
    'aria-setsize': list.count,
    'aria-selected': active
  };
  const base = `jp-reclaim-Row${active ? ' jp-mod-active' : ''}`;
  const { trans, model, actions } = list;
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
      return runningRow(item, list, common, base);
    case 'batch':
      return (
        <div {...common} aria-level={2} className={`${base} jp-mod-running`}>
          <BatchRow
            standing={item.standing}
            stop={() => actions.stopBatch(item.standing.batch.folder)}
            resume={() => actions.resumeBatch(item.standing.batch.folder)}
            trans={trans}
          />
        </div>
      );
    case 'stopped-header':
      return headerRow(
        item,
        list,
        { ...common, title: trans.__('Batches that nobody is at work on, though attempts of theirs are missing') },
        base,
        trans.__('Unfinished batches'),
        <span className="jp-reclaim-Row-right">{item.count}</span>
      );
    case 'tier':
      return headerRow(
        item,
        list,
        common,
        base,
        <>
          {item.suite} <span className="jp-reclaim-dim">·</span> {item.tier}
        </>,
        <span className="jp-reclaim-Row-right" title={countsTitle(item.counts, item.papers, trans)}>
          {item.counts.counted > 0
            ? `${item.counts.reproduced} / ${item.counts.counted}`
            : trans._n('%1 paper', '%1 papers', item.papers)}
        </span>
      );
    case 'paper':
      return paperRow(item, list, common, base);
    case 'attempt':
      return attemptRow(item, list, common, base);
    default:
      return (
        <div {...common} aria-level={2} className={`${base} jp-mod-problem`} title={item.text}>
          {item.text}
        </div>
      );
  }
}

function headerRow(
  item: Extract<Item, { kind: 'tier' | 'stopped-header' }>,
  list: IList,
  common: object,
  base: string,
  name: React.ReactNode,
  right: React.ReactElement
): React.ReactElement {
  const Caret = item.open ? caretDownIcon.react : caretRightIcon.react;
  return (
    <div
      {...common}
      aria-level={1}
      aria-expanded={item.open}
      className={`${base} jp-mod-header jp-mod-clickable`}
      onClick={() => list.toggle(item)}
    >
      <span className="jp-reclaim-Row-caret">
        <Caret tag="span" />
      </span>
      <span>{name}</span>
      {right}
    </div>
  );
}

function runningRow(
  item: Extract<Item, { kind: 'running' }>,
  list: IList,
  common: object,
  base: string
): React.ReactElement {
  const { trans, actions, model } = list;
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
      onClick={() => list.open(item.key, attempt)}
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

function paperRow(
  item: Extract<Item, { kind: 'paper' }>,
  list: IList,
  common: object,
  base: string
): React.ReactElement {
  const { paper, attempts } = item;
  const { trans, actions, model } = list;
  const shown = attempts.slice(0, MARKS);
  const target = paper.target === null ? '' : `${paper.metric} ${quantity(paper.target, paper.unit)}`;
  const current = attempts.some(attempt => attempt.path === model.current);
  return (
    <div
      {...common}
      aria-level={2}
      aria-expanded={attempts.length > 0 || !model.loaded ? item.open : undefined}
      className={`${base} jp-mod-paper jp-mod-clickable jp-reclaim-paper-item${current ? ' jp-mod-current' : ''}`}
      data-paper={paper.name}
      title={`${paper.title}\n${paper.criterion ? trans.__('reproduced if %1', paper.criterion) : ''}`}
      onClick={() => list.toggle(item)}
      onDoubleClick={() => actions.openCard(paper)}
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
                list.open(item.key, attempt);
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

function attemptRow(
  item: Extract<Item, { kind: 'attempt' }>,
  list: IList,
  common: object,
  base: string
): React.ReactElement {
  const { attempt } = item;
  const { trans, model } = list;
  const mark = markOf(attempt);
  const current = attempt.path === model.current;
  return (
    <div
      {...common}
      aria-level={3}
      aria-label={sentence(attempt, trans)}
      className={`${base} jp-mod-attempt jp-mod-clickable jp-reclaim-attempt-item${current ? ' jp-mod-current' : ''}`}
      data-path={attempt.path}
      aria-checked={model.picks.has(attempt.path)}
      title={sentence(attempt, trans)}
      onClick={event => (event.ctrlKey || event.metaKey ? list.pick(item.key, attempt) : list.open(item.key, attempt))}
    >
      <PickBox path={attempt.path} picks={model.picks} trans={trans} />
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

export function domId(key: string): string {
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
