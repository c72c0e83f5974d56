import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { quantity, since } from '../format';
import { IRerunning } from '../reexecute';
import { IDetail, IRerun } from '../tokens';
import { FactsTable } from './FactsTable';

/** Running the measurement again: what it is, how it stands, what came of it. */
export function Reexecution(props: {
  detail: IDetail;
  jump: (cell: string | null, output: number | null, text: string, line: string) => void;
  rerunning: IRerunning;
  trans: TranslationBundle;
}): React.ReactElement {
  const { detail, jump, rerunning, trans } = props;
  const { running, started, ended, stopped, problem, results } = detail.reexecution;
  const [stopping, setStopping] = React.useState(false);
  // Another try is not being stopped because one before it was.
  React.useEffect(() => setStopping(false), [running, started]);
  const never = results.length === 0 && problem === null && !stopped;
  return (
    <section className="jp-reclaim-Reexecution">
      <h2>{trans.__('Re-execution')}</h2>
      {never && !running && (
        <p className="jp-reclaim-dim">
          {trans.__(
            'Not run again yet. Re-executing runs the measurement in a fresh kernel, once as it was and once with changed inputs, and adds a verdict.'
          )}
        </p>
      )}
      {results.map(one =>
        one.result === null ? (
          <p key={one.file} className="jp-reclaim-error">
            {one.problem}
          </p>
        ) : (
          <Result
            key={one.file}
            file={one.file}
            rerun={one.result}
            unit={detail.attempt.unit}
            jump={jump}
            trans={trans}
          />
        )
      )}
      {running && (
        <p role="status">
          <span className="jp-reclaim-Working" aria-hidden="true" />
          {stopping
            ? trans.__('Stopping: its kernel is ended, and what it has run is removed.')
            : trans.__(
                'Running again for %1. It goes on when this page or the server is closed.',
                since(started, Date.now())
              )}
        </p>
      )}
      {!running && stopped && (
        <p role="status">
          {trans.__(
            'The last try was stopped after %1. Nothing of it is left, and no verdict was added.',
            since(started, Date.parse(ended ?? ''))
          )}
        </p>
      )}
      {!running && problem !== null && (
        <p className="jp-reclaim-error" role="alert">
          {trans.__('The last try gave no verdict: %1', problem)}
        </p>
      )}
      {running ? (
        <button
          className="jp-mod-styled jp-mod-minimal"
          disabled={stopping}
          onClick={() => void rerunning.stop().then(setStopping)}
        >
          {trans.__('Stop…')}
        </button>
      ) : (
        <button className="jp-mod-styled jp-mod-minimal" onClick={rerunning.start}>
          {never ? trans.__('Re-execute…') : trans.__('Re-execute again…')}
        </button>
      )}
    </section>
  );
}

function Result(props: {
  file: string;
  rerun: IRerun;
  unit: string;
  jump: (cell: string | null, output: number | null, text: string, line: string) => void;
  trans: TranslationBundle;
}): React.ReactElement {
  const { rerun, unit, jump, trans } = props;
  const agrees =
    rerun.agrees === null
      ? trans.__('there is no number to compare')
      : rerun.agrees
        ? trans.__('came out again')
        : trans.__('did not come out again');
  const constant =
    rerun.constant === null
      ? trans.__('nothing could be changed')
      : rerun.constant
        ? trans.__('the same number: a constant')
        : trans.__('another number, as of a measurement');
  const lines: [string, React.ReactNode][] = [
    [
      trans.__('run again'),
      <>
        {rerun.what === 'cell' ? trans.__('the measurement') : trans.__('the whole notebook')},{' '}
        {trans.__('%1 cells in %2', rerun.cells.length, rerun.kernel)}{' '}
        <button className="jp-reclaim-Link" onClick={() => jump(rerun.measuring, null, '', '')}>
          {trans.__('show the measuring cell')}
        </button>
      </>
    ],
    [trans.__('recorded'), quantity(rerun.original, unit)],
    [
      trans.__('again'),
      <>
        {rerun.again === null ? rerun.detail : quantity(rerun.again, unit)}{' '}
        <Judged good={rerun.agrees}>{agrees}</Judged>
      </>
    ],
    [
      trans.__('with changed inputs'),
      <>
        {rerun.changed.length > 0 && <code>{rerun.changed.join(', ')}</code>}{' '}
        <Judged good={rerun.constant === null ? null : !rerun.constant}>{constant}</Judged>
      </>
    ],
    ...rerun.left_out.map((part): [string, React.ReactNode] => [
      trans.__('left out'),
      <button key={part.cell} className="jp-reclaim-Link" onClick={() => jump(part.cell, null, part.text, part.text)}>
        {part.text}
      </button>
    ])
  ];
  return <FactsTable lines={lines} label={props.file} />;
}

function Judged(props: { good: boolean | null; children: React.ReactNode }): React.ReactElement {
  const mark = props.good === null ? '' : props.good ? '✓ ' : '✗ ';
  const kind = props.good === null ? 'jp-reclaim-dim' : props.good ? 'jp-reclaim-good' : 'jp-reclaim-error';
  return (
    <span className={kind}>
      {mark}
      {props.children}
    </span>
  );
}
