import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { cellSeconds, span } from '../format';
import { Axis, bandOf, endOf, segmentsOf } from '../model/spend';
import { term } from '../terms';
import { IComparedCell, IComparison } from '../tokens';

/** The cells of two attempts over one axis; bands join those that belong together. */
export function SpendChart(props: {
  comparison: IComparison;
  names: [string, string];
  unit: string;
  need: string | null;
  budget: string | null;
  show: (side: 'left' | 'right', index: number) => void;
  trans: TranslationBundle;
}): React.ReactElement {
  const { comparison, names, unit, show, trans } = props;
  const [axis, setAxis] = React.useState<Axis>('charge');
  const left = segmentsOf(comparison.left.cells, axis);
  const right = segmentsOf(comparison.right.cells, axis);
  const end = endOf([left, right]);
  const percent = (hours: number): string => `${(100 * hours) / end}%`;
  const marks = (
    axis === 'charge'
      ? [
          [trans.__('need'), props.need],
          [trans.__('budget'), props.budget]
        ]
      : []
  ).flatMap(([name, hours]) => {
    const at = Number(hours ?? NaN);
    return at > 0 && at <= end ? [{ name: name as string, at }] : [];
  });
  const track = (side: 'left' | 'right', cells: IComparedCell[]): React.ReactElement => (
    <div className="jp-reclaim-Spend-track">
      {(side === 'left' ? left : right).map(
        (segment, index) =>
          segment !== null && (
            <div
              key={index}
              className={`jp-reclaim-Spend-cell jp-mod-${cells[index].status}`}
              style={{ left: percent(segment.from), width: `max(2px, ${percent(segment.to - segment.from)})` }}
              title={title(cells[index], trans)}
              onClick={() => show(side, index)}
            />
          )
      )}
      {marks.map(mark => (
        <div key={mark.name} className="jp-reclaim-Spend-mark" style={{ left: percent(mark.at) }} title={mark.name} />
      ))}
    </div>
  );
  const total = (cells: IComparedCell[]): string => span([...cells].reverse().find(cell => cell.hours)?.hours ?? null);
  const spoken = trans.__(
    'Spend of both attempts on one axis: %1 took %2, %3 took %4. The cells stand below.',
    names[0],
    total(comparison.left.cells),
    names[1],
    total(comparison.right.cells)
  );
  return (
    <div className="jp-reclaim-Spend">
      <div className="jp-reclaim-Spend-head">
        <span className="jp-reclaim-dim">
          {axis === 'charge'
            ? trans.__('Each bar is a cell, as long as what was charged for it; bands join cells that belong together.')
            : trans.__(
                'Each bar is a cell, from when it began to when it ended; bands join cells that belong together.'
              )}
        </span>
        <select
          className="jp-reclaim-Select"
          aria-label={trans.__('Axis')}
          value={axis}
          onChange={event => setAxis(event.target.value as Axis)}
        >
          <option value="charge">{trans.__('by charge')}</option>
          <option value="time">{trans.__('by time')}</option>
        </select>
      </div>
      <div className="jp-reclaim-Spend-chart" role="img" aria-label={spoken}>
        <span className="jp-reclaim-Spend-name">{names[0]}</span>
        {track('left', comparison.left.cells)}
        <span />
        <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
          {comparison.pairs.map((pair, index) => {
            const band = bandOf(pair, left, right, end);
            return (
              band && (
                <polygon
                  key={index}
                  className={`jp-mod-${pair.match}`}
                  points={`${band[0]},0 ${band[1]},0 ${band[2]},10 ${band[3]},10`}
                />
              )
            );
          })}
        </svg>
        <span className="jp-reclaim-Spend-name">{names[1]}</span>
        {track('right', comparison.right.cells)}
        <span />
        <div className="jp-reclaim-Spend-axis">
          <span>0</span>
          <span>{span(end / 2)}</span>
          <span>{axis === 'charge' ? `${span(end)} ${unit}` : span(end)}</span>
        </div>
      </div>
      {marks.length > 0 && (
        <p className="jp-reclaim-dim">
          {trans.__('Marks: %1.', marks.map(mark => `${mark.name} ${span(mark.at)}`).join(', '))}
        </p>
      )}
    </div>
  );
}

function title(cell: IComparedCell, trans: TranslationBundle): string {
  return [
    `${cell.turn === null ? term(cell.author, trans) : trans.__('turn %1', cell.turn)}: ${term(cell.status, trans)}`,
    trans.__('ran %1, charged %2', cellSeconds(cell.held), cellSeconds(cell.charged)),
    cell.line
  ].join('\n');
}
