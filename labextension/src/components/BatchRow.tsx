import { TranslationBundle } from '@jupyterlab/translation';
import { stopIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { standing } from '../model/batches';
import { IAttempt, IBatch } from '../tokens';

/** A batch that a pool is at work on: how far it is, and its stop. */
export function BatchRow(props: {
  batch: IBatch;
  attempts: Iterable<IAttempt>;
  stop: () => void;
  trans: TranslationBundle;
}): React.ReactElement {
  const { batch, trans } = props;
  const { done, running, faults } = standing(batch, props.attempts);
  const text = trans.__('%1 of %2 done', done, batch.total);
  const stop = trans.__('Stop this batch');
  return (
    <>
      <div className="jp-reclaim-Row-line">
        <span className="jp-reclaim-Row-name">
          {trans.__('batch')} <b>{batch.name}</b>
        </span>
        <span className="jp-reclaim-Row-right">
          <button
            className="jp-reclaim-IconButton"
            title={stop}
            aria-label={stop}
            tabIndex={-1}
            onClick={event => {
              event.stopPropagation();
              props.stop();
            }}
          >
            <stopIcon.react tag="span" width="14px" height="14px" />
          </button>
        </span>
      </div>
      <div
        className="jp-reclaim-BudgetBar"
        role="progressbar"
        aria-label={text}
        aria-valuemin={0}
        aria-valuemax={batch.total}
        aria-valuenow={done}
        title={text}
      >
        <div className="jp-reclaim-BudgetBar-used" style={{ width: `${(100 * done) / Math.max(1, batch.total)}%` }} />
      </div>
      <div className="jp-reclaim-Row-line jp-reclaim-dim">
        <span className="jp-reclaim-Row-name">{text}</span>
        <span className="jp-reclaim-Row-right">
          {faults > 0 ? `${trans._n('%1 fault or stop', '%1 faults or stops', faults)} · ` : ''}
          {trans.__('%1 running', running)}
        </span>
      </div>
    </>
  );
}
