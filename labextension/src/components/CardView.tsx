import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { quantity, span } from '../format';
import { ICard, IScale } from '../tokens';
import { FactsTable } from './FactsTable';
import { NumberLine } from './NumberLine';

const WHY: { [tier: string]: string } = {
  run: 'the authors published code, data and weights',
  retrain: 'the authors published code, but no weights',
  reimplement: 'no code of the authors is available'
};

/** A paper card as a person reads it: what was fixed before any attempt. */
export function CardView(props: { card: ICard; trans: TranslationBundle; onStart?: () => void }): React.ReactElement {
  const { card, trans } = props;
  const scale = card.scale;
  const whole = card.card ?? {};
  const target = whole.target ?? {};
  const rows: [string, React.ReactNode][] = [
    ['claim', target.claim],
    ['tier', `${card.tier}: ${WHY[card.tier] ?? ''}`],
    [
      'target',
      `${card.metric} ${quantity(card.target, card.unit)}${card.direction === 'none' ? '' : `, ${card.direction} is better`}`
    ],
    ['where', target.where],
    ['measured on', [target.scope, target.split, target.n ? `n = ${target.n}` : null].filter(Boolean).join('; ')],
    ['settings, withheld from agents', target.config],
    ['reproduced if', card.criterion],
    ['because', whole.criterion?.basis],
    ['strict bar', scale.strict?.text],
    [
      'need',
      `${span(card.need_hours)} (${whole.need?.basis ?? 'unspecified'})${whole.need?.source ? `: ${whole.need.source}` : ''}`
    ],
    [
      'budget',
      `${span(card.budget_hours)}, ${card.hours_unit}${whole.budget?.rationale ? `: ${whole.budget.rationale}` : ''}`
    ],
    [
      'gold run',
      whole.gold
        ? `${whole.gold.value ?? '–'} by ${whole.gold.route}${whole.gold.spread ? `; ${whole.gold.spread}` : ''}`
        : 'none'
    ],
    ['audit', `${card.audit}${card.audit_reasons.length ? `: ${card.audit_reasons.join('; ')}` : ''}`],
    ['doubts', list(whole.doubts)],
    ['pitfalls', list(whole.pitfalls)]
  ];
  const anchors: any[] = whole.anchors ?? [];
  return (
    <div className="jp-reclaim-Card">
      <header>
        <div>
          <span className="jp-reclaim-Chip">{card.tier}</span>
          <span className="jp-reclaim-Chip">{card.device.toUpperCase()}</span>
          {card.audit !== 'sound' && (
            <span className={`jp-reclaim-Chip jp-mod-${card.audit}`}>{trans.__('%1 card', card.audit)}</span>
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
