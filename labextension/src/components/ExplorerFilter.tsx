import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { OUTCOMES } from '../format';
import { Sort } from '../model/catalog';
import { term } from '../terms';

/** What the panel is asked to show. */
export interface IAsked {
  text: string;
  outcome: string;
  sort: Sort;
  onlyTried: boolean;
}

export const EVERYTHING = { text: '', outcome: '', onlyTried: false };

/** Whether something may be left out. */
export function isNarrowed(asked: IAsked): boolean {
  return asked.text !== '' || asked.outcome !== '' || asked.onlyTried;
}

/** Above the list: what it is searched for, filtered and sorted by. */
export function ExplorerFilter(props: {
  asked: IAsked;
  change: (change: Partial<IAsked>) => void;
  /** On to the list. */
  leave: () => void;
  trans: TranslationBundle;
}): React.ReactElement {
  const { asked, change, leave, trans } = props;
  return (
    <div className="jp-reclaim-Explorer-filter" role="search">
      <input
        className="jp-mod-styled"
        type="search"
        spellCheck={false}
        placeholder={trans.__('Filter papers, agents, outcomes…')}
        aria-label={trans.__('Filter papers, agents and outcomes')}
        value={asked.text}
        onChange={event => change({ text: event.target.value })}
        onKeyDown={event => {
          if (event.key === 'ArrowDown' || event.key === 'Enter') {
            event.preventDefault();
            leave();
          } else if (event.key === 'Escape') {
            change({ text: '' });
          }
        }}
      />
      <div className="jp-reclaim-Explorer-choices">
        <select
          aria-label={trans.__('Outcome')}
          title={trans.__('Show attempts of one outcome')}
          value={asked.outcome}
          onChange={event => change({ outcome: event.target.value })}
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
          value={asked.sort}
          onChange={event => change({ sort: event.target.value as Sort })}
        >
          <option value="name">{trans.__('by name')}</option>
          <option value="recent">{trans.__('latest first')}</option>
          <option value="rate">{trans.__('by success')}</option>
          <option value="need">{trans.__('by need')}</option>
        </select>
        <label title={trans.__('Leave out papers without an attempt')}>
          <input
            type="checkbox"
            checked={asked.onlyTried}
            onChange={event => change({ onlyTried: event.target.checked })}
          />
          {trans.__('tried')}
        </label>
      </div>
    </div>
  );
}
