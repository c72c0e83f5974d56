import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { share, span } from '../format';

/** Spend on the budget granted, with the need as a mark. Hours as texts, in one unit. */
export function BudgetBar(props: {
  spent: string | null;
  budget: string | null;
  need: string | null;
  unit: string;
  trans: TranslationBundle;
}): React.ReactElement {
  const { spent, budget, need, unit, trans } = props;
  const used = share(spent, budget);
  const mark = share(need, budget);
  const text =
    need === null
      ? trans.__('spent %1 of %2 %3', span(spent), span(budget), unit)
      : trans.__('spent %1 of %2 %3; the mark is the need, %4', span(spent), span(budget), unit, span(need));
  const level = used === null ? '' : used >= 0.999 ? 'jp-mod-full' : used >= 0.8 ? 'jp-mod-high' : '';
  return (
    <div
      className={`jp-reclaim-BudgetBar ${level}`}
      role="meter"
      aria-label={text}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={used === null ? 0 : Math.round(used * 100)}
      title={text}
    >
      <div className="jp-reclaim-BudgetBar-used" style={{ width: `${(used ?? 0) * 100}%` }} />
      {mark !== null && <div className="jp-reclaim-BudgetBar-need" style={{ left: `${mark * 100}%` }} />}
    </div>
  );
}
