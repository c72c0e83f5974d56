import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { short } from '../format';
import { IPlan } from '../tokens';

const SHOWN = 6;

/** What carrying out a plan will do, before it is begun. */
export function PlanView(props: { plan: IPlan; trans: TranslationBundle }): React.ReactElement {
  const { plan, trans } = props;
  const left = plan.total - plan.done;
  const more = plan.papers.length - SHOWN;
  const rows: [string, React.ReactNode][] = [
    [
      trans.__('Attempts'),
      plan.done === 0
        ? trans._n('%1 will be made', '%1 will be made', left)
        : trans.__('%1 will be made; %2 of %3 have their result already', left, plan.done, plan.total)
    ],
    [
      trans._n('Paper', 'Papers', plan.papers.length),
      <>
        {plan.papers.slice(0, SHOWN).map(paper => (
          <div key={paper}>{paper}</div>
        ))}
        {more > 0 && (
          <div title={plan.papers.slice(SHOWN).join('\n')}>{trans._n('and %1 more', 'and %1 more', more)}</div>
        )}
      </>
    ],
    [trans._n('Agent', 'Agents', plan.agents.length), plan.agents.join(', ')],
    [trans.__('Repeats'), String(plan.repeats)],
    [
      trans.__('Kernel'),
      <>
        {plan.kernel}
        {plan.kernel === 'local' && <span className="jp-reclaim-warn"> {trans.__('without a sandbox')}</span>}
        {plan.network !== 'none' && ` · ${trans.__('network: %1', plan.network)}`}
      </>
    ],
    [trans.__('At a time'), trans._n('%1 attempt', '%1 attempts', plan.slots)],
    [
      trans.__('Most it may spend'),
      <b>{plan.most_hours.map(one => `${short(Number(one.hours))} ${one.unit}`).join(', ') || '0'}</b>
    ]
  ];
  return (
    <div className="jp-reclaim-Plan">
      <dl>
        {rows.map(([name, value]) => (
          <React.Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </React.Fragment>
        ))}
      </dl>
      <p className="jp-reclaim-dim">
        {trans.__(
          'It goes on when this tab or the server is closed. Stop it in the panel, and resume it there: it does what is left.'
        )}
      </p>
    </div>
  );
}
