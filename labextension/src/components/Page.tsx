import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { Api } from '../api';
import { agentName, cellSeconds, markOf, quantity, span } from '../format';
import { IRerunning } from '../reexecute';
import { term } from '../terms';
import { IDetail, IEvent, IRecord, IVerdict } from '../tokens';
import { Conversation } from './Conversation';
import { ImportedFacts } from './ImportedFacts';
import { Mark } from './Mark';
import { NetworkLog } from './NetworkLog';
import { Reexecution } from './Reexecution';

export interface IPageCell {
  id: string;
  turn: number | null;
  author: string;
  type: string;
  source: string;
  status: string;
  held: number;
  charged: number;
  started: string | null;
}

/** Cells of an attempt from the events of its stream. */
export function cellsOf(events: IEvent[]): IPageCell[] {
  const cells = new Map<string, IPageCell>();
  for (const event of events) {
    const id = event.cell ?? '';
    if (event.kind === 'cell') {
      cells.set(id, {
        id,
        turn: event.turn ?? null,
        author: (event as any).author ?? '',
        type: (event as any).cell_type ?? 'code',
        source: event.source ?? '',
        status: '',
        held: 0,
        charged: 0,
        started: null
      });
    }
    const cell = cells.get(id);
    if (cell && event.kind === 'execute') {
      cell.started = event.time;
      cell.status = 'running';
    } else if (cell && event.kind === 'cell_end') {
      cell.status = event.status ?? '';
      cell.held = (event as any).held_seconds ?? 0;
      cell.charged = (event as any).charged_seconds ?? 0;
    }
  }
  return [...cells.values()];
}

/** One attempt at length: cells over time, every verdict with its evidence, what the detectors saw, the record. */
export function Page(props: {
  detail: IDetail;
  record: IRecord | null;
  cells: IPageCell[];
  jump: (cell: string | null, output: number | null, text: string, line: string) => void;
  rerunning: IRerunning;
  compare: () => void;
  api: Api;
  trans: TranslationBundle;
}): React.ReactElement {
  const { detail, record, cells, jump, trans } = props;
  const { attempt } = detail;
  const code = cells.filter(cell => cell.type === 'code' && cell.started !== null);
  const total = code.reduce((sum, cell) => sum + cell.charged, 0);
  const first = code.length > 0 ? Date.parse(code[0].started as string) : 0;
  const last = code.reduce((end, cell) => Math.max(end, Date.parse(cell.started as string) + cell.held * 1000), first);
  const whole = Math.max(1, last - first);
  const verdicts = detail.verdicts.filter(one => one.verdict !== null);
  let spent = 0;
  return (
    <div className="jp-reclaim-Page">
      <header>
        <h1>
          <Mark mark={markOf(attempt)} trans={trans} /> {attempt.paper} · {agentName(attempt)} · {attempt.repeat}
        </h1>
        <p className="jp-reclaim-dim">
          {attempt.title} · {detail.ending ?? term(attempt.state, trans)} ·{' '}
          {trans.__('%1 of %2', span(attempt.spent_hours), span(attempt.budget_hours))}
        </p>
        {detail.imported === null && (
          <p className="jp-reclaim-Page-buttons">
            <button className="jp-mod-styled jp-mod-minimal" onClick={() => jump(null, null, '', '')}>
              {trans.__('Open the notebook')}
            </button>
            <button className="jp-mod-styled jp-mod-minimal" onClick={props.compare}>
              {trans.__('Compare with another attempt…')}
            </button>
          </p>
        )}
      </header>
      {detail.imported !== null && <ImportedFacts facts={detail.imported} trans={trans} />}
      <section hidden={detail.imported !== null}>
        <h2>{trans.__('Cells over time')}</h2>
        {code.length === 0 ? (
          <p className="jp-reclaim-dim">{trans.__('No cell has run.')}</p>
        ) : (
          <div className="jp-reclaim-Timeline" role="list">
            {code.map(cell => {
              const from = (Date.parse(cell.started as string) - first) / whole;
              const length = (cell.held * 1000) / whole;
              spent += cell.charged;
              const part = total > 0 ? cell.charged / total : 0;
              return (
                <button
                  role="listitem"
                  key={cell.id}
                  className={`jp-reclaim-Timeline-cell jp-mod-${cell.status}`}
                  title={[
                    `${cell.turn ? trans.__('turn %1', cell.turn) : term(cell.author, trans)}: ${term(cell.status, trans)}`,
                    trans.__('ran %1, charged %2', cellSeconds(cell.held), cellSeconds(cell.charged)),
                    cell.source.slice(0, 300)
                  ].join('\n')}
                  onClick={() => jump(cell.id, null, '', cell.source.split('\n')[0])}
                >
                  <span className="jp-reclaim-Timeline-turn">{cell.turn ?? ''}</span>
                  <code className="jp-reclaim-Timeline-source">{cell.source.split('\n')[0]}</code>
                  <span className="jp-reclaim-Timeline-track">
                    <span
                      className="jp-reclaim-Timeline-bar"
                      style={{
                        left: `${from * 100}%`,
                        width: `max(2px, ${length * 100}%)`,
                        opacity: 0.35 + 0.65 * Math.sqrt(part)
                      }}
                    />
                  </span>
                  <span className="jp-reclaim-Timeline-spent">{span(spent / 3600)}</span>
                </button>
              );
            })}
          </div>
        )}
      </section>
      <section>
        <h2>{trans.__('Verdicts')}</h2>
        {verdicts.length === 0 && <p className="jp-reclaim-dim">{trans.__('Not graded yet.')}</p>}
        <div className="jp-reclaim-Verdicts">
          {verdicts.map(one => (
            <VerdictView
              key={one.file}
              title={one.file.replace(/^verdict\.|\.json$/g, '')}
              verdict={one.verdict as IVerdict}
              jump={jump}
              trans={trans}
            />
          ))}
        </div>
      </section>
      {detail.imported === null && attempt.state === 'ended' && (
        <Reexecution detail={detail} jump={jump} rerunning={props.rerunning} trans={trans} />
      )}
      {detail.imported === null && (
        <>
          <section>
            <h2>{trans.__('Conversation, beside the cells')}</h2>
            <Conversation
              api={props.api}
              path={attempt.path}
              stamp={detail.stamp}
              cells={code}
              jump={jump}
              trans={trans}
            />
          </section>
          <section>
            <h2>{trans.__('Network')}</h2>
            <NetworkLog api={props.api} path={attempt.path} stamp={detail.stamp} jump={jump} trans={trans} />
          </section>
        </>
      )}
      <section>
        <h2>{trans.__('Record')}</h2>
        <p>
          {record === null
            ? trans.__('checking…')
            : record.state === 'sound'
              ? trans.__('intact: %1 events, head %2', record.events, record.head)
              : record.state === 'none'
                ? trans.__('made elsewhere; there is no record of ours')
                : trans.__('broken')}
        </p>
        {record !== null && record.problems.length > 0 && (
          <ul className="jp-reclaim-error">
            {record.problems.map((text, index) => (
              <li key={index}>{text}</li>
            ))}
          </ul>
        )}
      </section>
    </div>
  );
}

/** One verdict with what it rests on. */
export function VerdictView(props: {
  title: string;
  verdict: IVerdict;
  trans: TranslationBundle;
  jump?: (cell: string | null, output: number | null, text: string, line: string) => void;
}): React.ReactElement {
  const { verdict, jump, trans } = props;
  const place = (one: any, index: number, label: string) => (
    <li key={index}>
      <button
        className="jp-reclaim-Evidence"
        disabled={!jump || !one.cell}
        onClick={() =>
          jump?.(one.cell ?? null, one.output ?? null, String(one.text ?? ''), String(one.line ?? one.text ?? ''))
        }
      >
        <span className="jp-reclaim-dim">{label}</span>{' '}
        <code>
          {String(one.line ?? one.text ?? '')
            .split('\n')[0]
            .slice(0, 120)}
        </code>
      </button>
    </li>
  );
  const array = (value: any): any[] => (Array.isArray(value) ? value : []);
  return (
    <article className="jp-reclaim-Verdict">
      <h3>{props.title}</h3>
      <p>
        <span className={`jp-reclaim-outcome jp-mod-${String(verdict.outcome)}`}>
          {term(String(verdict.outcome), trans)}
        </span>
        {verdict.cause ? <span className="jp-reclaim-dim"> · {String(verdict.cause)}</span> : null}
      </p>
      <p>{String(verdict.meaning ?? '')}</p>
      {typeof verdict.band === 'string' && (
        <p className="jp-reclaim-dim">
          {verdict.value !== null && verdict.value !== undefined
            ? `${trans.__('measured %1', quantity(String(verdict.value), String(verdict.unit ?? '')))}; `
            : ''}
          {trans.__('reproduced if %1', verdict.band)}
        </p>
      )}
      <ul>
        {array(verdict.citations).map((one, index) => place(one, index, trans.__('evidence')))}
        {array(verdict.because).map((one, index) => place(one, index, term(String(one?.rule), trans)))}
      </ul>
      {array(verdict.notes).map((note, index) => (
        <p key={index} className="jp-reclaim-dim">
          {String(note)}
        </p>
      ))}
      <p className="jp-reclaim-dim">
        {[`${verdict.grader ?? ''} ${verdict.grader_version ?? ''}`.trim(), verdict.model].filter(Boolean).join(' · ')}
      </p>
    </article>
  );
}
