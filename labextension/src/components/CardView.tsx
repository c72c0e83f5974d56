import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { quantity, span } from '../format';
import { term, tierText } from '../terms';
import { ICard, IScale } from '../tokens';
import { FactsTable } from './FactsTable';
import { NumberLine } from './NumberLine';

/** A paper card as a person reads it: what was fixed before any attempt. */
export function CardView(props: { card: ICard; trans: TranslationBundle; onStart?: () => void }): React.ReactElement {
  const { card, trans } = props;
  const scale = card.scale;
  const whole = card.card ?? {};
  const target = whole.target ?? {};
  const need = whole.need ?? {};
  const { gold } = whole;
  const better = card.direction === 'none' ? '' : trans.__(', %1 is better', term(card.direction, trans));
  const rows: [string, React.ReactNode][] = [
    [trans.__('claim'), target.claim],
    [trans.__('tier'), `${card.tier}: ${tierText(card.tier, trans)}`],
    [trans.__('target'), `${card.metric} ${quantity(card.target, card.unit)}${better}`],
    [trans.__('where'), target.where],
    [
      trans.__('measured on'),
      [target.scope, target.split, target.n ? `n = ${target.n}` : null].filter(Boolean).join('; ')
    ],
    [trans.__('settings, withheld from agents'), target.config],
    [trans.__('reproduced if'), card.criterion],
    [trans.__('because'), whole.criterion?.basis],
    [trans.__('strict bar'), scale.strict?.text],
    [trans.__('need'), because(`${span(card.need_hours)} (${need.basis ?? trans.__('unspecified')})`, need.source)],
    [trans.__('budget'), because(`${span(card.budget_hours)}, ${card.hours_unit}`, whole.budget?.rationale)],
    [
      trans.__('gold run'),
      gold
        ? [trans.__('%1 by %2', gold.value ?? '–', gold.route), gold.spread].filter(Boolean).join('; ')
        : trans.__('none')
    ],
    [trans.__('audit'), because(term(card.audit, trans), card.audit_reasons.join('; '))],
    [trans.__('doubts'), list(whole.doubts)],
    [trans.__('pitfalls'), list(whole.pitfalls)]
  ];
  const anchors: any[] = whole.anchors ?? [];
  return (
    <div className="jp-reclaim-Card">
      <header>
        <div>
          <span className="jp-reclaim-Chip">{card.tier}</span>
          <span className="jp-reclaim-Chip">{card.device.toUpperCase()}</span>
          {card.audit !== 'sound' && (
            <span className={`jp-reclaim-Chip jp-mod-${card.audit}`}>
              {trans.__('%1 card', term(card.audit, trans))}
            </span>
          )}
          {card.changed && (
            <span
              className="jp-reclaim-Chip jp-mod-warn"
              title={trans.__('the file differs from what the suite’s manifest lists')}
            >
              {trans.__('changed')}
            </span>
          )}
        </div>
        <h1>{card.title}</h1>
        <p className="jp-reclaim-dim">
          {[(whole.authors ?? []).join(', '), whole.venue, whole.arxiv ? `arXiv ${whole.arxiv}` : null]
            .filter(Boolean)
            .join(' · ')}
        </p>
        {props.onStart && (
          <button className="jp-mod-styled jp-mod-accept" onClick={props.onStart}>
            {trans.__('Make an attempt…')}
          </button>
        )}
      </header>
      <NumberLine scale={scale} value={null} outcome={null} trans={trans} />
      <FactsTable lines={rows.filter(([, value]) => value !== undefined && value !== null && value !== '')} />
      {anchors.length > 0 && (
        <section>
          <h2>{trans.__('Anchors, cheap to check first')}</h2>
          <table className="jp-reclaim-Facts">
            <tbody>
              {anchors.map(anchor => (
                <tr key={anchor.name}>
                  <th scope="row">{anchor.name}</th>
                  <td>
                    {quantity(String(anchor.value), anchor.unit)} <span className="jp-reclaim-dim">{anchor.what}</span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </div>
  );
}

function because(what: string, why: string | null | undefined): string {
  return why ? `${what}: ${why}` : what;
}

function list(items: unknown): React.ReactNode {
  return Array.isArray(items) && items.length > 0 ? (
    <ul>
      {items.map((item, index) => (
        <li key={index}>{String(item)}</li>
      ))}
    </ul>
  ) : null;
}

export type { IScale };
