import { TranslationBundle } from '@jupyterlab/translation';
import { runIcon, stopIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { IStanding } from '../model/batches';

/** A batch that a pool is at work on, with its stop, or that can be resumed: how far it is. */
export function BatchRow(props: {
  standing: IStanding;
  stop: () => void;
  resume: () => void;
  trans: TranslationBundle;
}): React.ReactElement {
  const { trans } = props;
  const { batch, done, running, faults } = props.standing;
  const text = trans.__('%1 of %2 done', done, batch.total);
  const label = batch.running ? trans.__('Stop this batch') : trans.__('Resume this batch');
  const icon = batch.running ? stopIcon : runIcon;
  return (
    <>
      <div className="jp-reclaim-Row-line">
        <span className="jp-reclaim-Row-name">
          {trans.__('batch')} <b>{batch.name}</b>
        </span>
        <span className="jp-reclaim-Row-right">
          <button
            className="jp-reclaim-IconButton"
            title={label}
            aria-label={label}
            tabIndex={-1}
            onClick={event => {
              event.stopPropagation();
              (batch.running ? props.stop : props.resume)();
            }}
          >
            <icon.react tag="span" width="14px" height="14px" />
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
          {batch.running ? trans.__('%1 running', running) : trans.__('stopped')}
        </span>
      </div>
    </>
  );
}
