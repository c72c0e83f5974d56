import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { quantity } from '../format';
import { IPlaced, layOut, withoutOverlap } from '../scale';
import { term } from '../terms';
import { IScale } from '../tokens';

const CHARACTER = 0.0165; // of the line's width, at the width it is usually seen at

/** Band, target, observed value and what else is known, on one line. */
export function NumberLine(props: {
  scale: IScale;
  value: string | null;
  outcome: string | null;
  trans: TranslationBundle;
}): React.ReactElement | null {
  const { scale, value, trans } = props;
  const line = layOut(scale, value);
  if (line === null) {
    return <div className="jp-reclaim-NumberLine-none">{scale.printed ?? trans.__('The paper prints no number.')}</div>;
  }
  const of = (kind: IPlaced['kind']) => line.marks.filter(mark => mark.kind === kind);
  const [target] = of('target');
  const [observed] = of('value');
  const [gold] = of('gold');
  const others = [...of('baseline'), ...of('sibling')];
  const top = [
    ...(observed ? [{ mark: observed, text: trans.__('observed %1', observed.text) }] : []),
    ...(target ? [{ mark: target, text: trans.__('target %1', target.text) }] : [])
  ];
  const bounds: { at: number; text: string; title: string; kind: string }[] = [];
  if (line.band && !line.band.openLow && scale.band?.low) {
    bounds.push({ at: line.band.low, text: scale.band.low, title: trans.__('lowest accepted value'), kind: 'bound' });
  }
  if (line.band && !line.band.openHigh && scale.band?.high) {
    bounds.push({
      at: line.band.high,
      text: scale.band.high,
      title: trans.__('highest accepted value'),
      kind: 'bound'
    });
  }
  if (gold) {
    bounds.push({ at: gold.at, text: trans.__('gold %1', gold.text), title: goldTitle(scale, trans), kind: 'gold' });
  }
  for (const mark of others) {
    const arrow = mark.off < 0 ? '‹ ' : mark.off > 0 ? ' ›' : '';
    const text = mark.kind === 'baseline' ? trans.__('baseline %1', mark.text) : mark.text;
    bounds.push({
      at: mark.at,
      text: mark.off < 0 ? `${arrow}${text}` : `${text}${arrow}`,
      title: titleOf(mark, trans),
      kind: mark.kind
    });
  }
  const topRows = rows(top.map(({ mark, text }) => ({ at: mark.at, width: text.length * CHARACTER })));
  const lowRows = rows(bounds.map(({ at, text }) => ({ at, width: text.length * CHARACTER })));
  const spoken = [
    trans.__('target %1', quantity(scale.target, scale.unit)),
    trans.__('accepted: %1', scale.band?.text ?? trans.__('no criterion')),
    ...(value === null ? [] : [trans.__('observed %1', value)]),
    ...(value === null || !props.outcome ? [] : [term(props.outcome, trans)])
  ].join('; ');
  return (
    <div className={`jp-reclaim-NumberLine jp-mod-${props.outcome ?? 'ungraded'}`} role="img" aria-label={spoken}>
      <div className="jp-reclaim-NumberLine-labels jp-mod-top">
        {top.map(({ mark, text }, index) => (
          <span
            key={mark.kind}
            className={`jp-reclaim-NumberLine-label jp-mod-${mark.kind}`}
            style={placed(mark.at, text, 1 - topRows[index])}
          >
            {mark.off < 0 ? '‹ ' : ''}
            {text}
            {mark.off > 0 ? ' ›' : ''}
          </span>
        ))}
      </div>
      <div className="jp-reclaim-NumberLine-axis">
        <div className="jp-reclaim-NumberLine-rule" />
        {line.band && (
          <div
            className={
              'jp-reclaim-NumberLine-band' +
              (line.band.openLow ? ' jp-mod-openLow' : '') +
              (line.band.openHigh ? ' jp-mod-openHigh' : '')
            }
            title={trans.__('accepted: %1', scale.band?.text ?? '')}
            style={{ left: `${line.band.low * 100}%`, width: `${(line.band.high - line.band.low) * 100}%` }}
          />
        )}
        {line.strict && (
          <div
            className="jp-reclaim-NumberLine-strict"
            title={trans.__('strict bar: %1', scale.strict?.text ?? '')}
            style={{
              left: `${line.strict.low * 100}%`,
              width: `${(line.strict.high - line.strict.low) * 100}%`
            }}
          />
        )}
        {line.marks.map((mark, index) => (
          <div
            key={index}
            className={`jp-reclaim-NumberLine-mark jp-mod-${mark.kind}${mark.off ? ' jp-mod-off' : ''}`}
            title={titleOf(mark, trans)}
            style={{ left: `${mark.at * 100}%` }}
          />
        ))}
      </div>
      <div className="jp-reclaim-NumberLine-labels jp-mod-bottom">
        {bounds.map(({ at, text, title, kind }, index) =>
          lowRows[index] > 1 ? null : (
            <span
              key={index}
              title={title}
              className={`jp-reclaim-NumberLine-label jp-mod-${kind}`}
              style={placed(at, text, lowRows[index])}
            >
              {text}
            </span>
          )
        )}
      </div>
    </div>
  );
}

function titleOf(mark: IPlaced, trans: TranslationBundle): string {
  switch (mark.kind) {
    case 'value':
      return trans.__('observed: %1', mark.text);
    case 'target':
      return trans.__('target: %1', mark.text);
    case 'gold':
      return trans.__('gold run: %1', mark.text);
    case 'baseline':
      return trans.__('baseline %1: %2', mark.name, mark.text);
    default:
      return trans.__('also in the paper, %1: %2', mark.name, mark.text);
  }
}

function goldTitle(scale: IScale, trans: TranslationBundle): string {
  return trans.__('gold run: what %1 really gives', scale.gold?.name ?? trans.__('the authors’ own route'));
}

/** The row, 0 or 1, that each label finds room in; 2 for those that find none. */
function rows(labels: { at: number; width: number }[]): number[] {
  const first = withoutOverlap(labels);
  const rest = labels.filter((_, index) => !first[index]);
  const second = withoutOverlap(rest);
  let next = 0;
  return labels.map((_, index) => (first[index] ? 0 : second[next++] ? 1 : 2));
}

/** Centred on its place, and never beyond an end of the line. */
function placed(at: number, text: string, row: number): React.CSSProperties {
  const half = (text.length * CHARACTER) / 2;
  const style: React.CSSProperties = { top: `${row * 14}px` };
  if (at - half < 0) {
    return { ...style, left: 0 };
  }
  if (at + half > 1) {
    return { ...style, right: 0 };
  }
  return { ...style, left: `${at * 100}%`, transform: 'translateX(-50%)' };
}
