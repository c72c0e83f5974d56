import { TranslationBundle } from '@jupyterlab/translation';
import { caretDownIcon, caretRightIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { agentName, markOf, quantity, since, span } from '../format';
import { meaningOf, term, tierText } from '../terms';
import { ICitation, IDetail, IFact, ILive, IRecord, IVerdict } from '../tokens';
import { BannerButton, Claim, NoBanner, OnTheLine, Spend, spentOf, verdictOf } from './BannerParts';
import { Mark } from './Mark';

export interface IBannerState {
  detail: IDetail | null;
  record: IRecord | null;
  live: ILive | null;
  problem: string | null;
  /** The view was changed by hand, so it follows no more. */
  changed: boolean;
  cells: { turns: number; code: number; errors: number };
  compact: boolean;
}

export interface IBannerActions {
  jump(place: { cell: string | null; output: number | null; text: string; line: string }): void;
  openCard(): void;
  openPage(): void;
  compare(): void;
  act(action: 'stop' | 'resume' | 'grade'): void;
  revert(): void;
  toggle(): void;
}

/** What came of the attempt whose notebook is shown below. */
export class Banner extends React.Component<
  { state: IBannerState; actions: IBannerActions; trans: TranslationBundle },
  { file: string | null; now: number }
> {
  state = { file: null as string | null, now: Date.now() };

  componentDidMount(): void {
    this._timer = window.setInterval(() => {
      if (this.props.state.live?.running) {
        this.setState({ now: Date.now() });
      }
    }, 1000);
  }

  componentWillUnmount(): void {
    window.clearInterval(this._timer);
  }

  render(): React.ReactNode {
    const { detail, record, problem, changed, compact } = this.props.state;
    const { actions, trans } = this.props;
    if (detail === null) {
      return <NoBanner problem={problem} trans={trans} />;
    }
    const { attempt, paper } = detail;
    const verdict = verdictOf(detail, this.state.file);
    const caret = compact ? caretRightIcon : caretDownIcon;
    return (
      <div className="jp-reclaim-Banner" role="region" aria-label={trans.__('Attempt')}>
        <div className="jp-reclaim-Banner-head">
          <button
            className="jp-reclaim-IconButton"
            aria-expanded={!compact}
            title={compact ? trans.__('Show more') : trans.__('Show less')}
            aria-label={compact ? trans.__('Show more') : trans.__('Show less')}
            onClick={actions.toggle}
          >
            <caret.react tag="span" />
          </button>
          <Mark mark={markOf(attempt)} trans={trans} />
          <span className="jp-reclaim-Banner-name">
            <b>{attempt.paper}</b> · {agentName(attempt)} · {attempt.repeat}
          </span>
          {this._seal(record)}
          {compact && this._outcome(verdict)}
          <span className="jp-reclaim-Banner-buttons">
            {attempt.state === 'running' && (
              <BannerButton label={trans.__('Stop')} action={() => actions.act('stop')} />
            )}
            {attempt.state === 'dead_runner' && (
              <BannerButton label={trans.__('Resume')} action={() => actions.act('resume')} />
            )}
            {attempt.state === 'ended' && !attempt.imported && (
              <BannerButton
                label={verdict ? trans.__('Grade again') : trans.__('Grade')}
                action={() => actions.act('grade')}
              />
            )}
            <BannerButton label={trans.__('Timeline')} action={actions.openPage} />
            {!attempt.imported && <BannerButton label={trans.__('Compare…')} action={actions.compare} />}
            {paper && <BannerButton label={trans.__('Card')} action={actions.openCard} />}
          </span>
        </div>
        {changed && (
          <div className="jp-reclaim-Banner-note jp-mod-warn" role="alert">
            {trans.__('You changed this view. The record on disk stays as it is, and this view no longer follows it.')}{' '}
            <button className="jp-reclaim-Link" onClick={actions.revert}>
              {trans.__('Show the record again')}
            </button>
          </div>
        )}
        {record !== null && record.state === 'broken' && (
          <div className="jp-reclaim-Banner-note jp-mod-error" role="alert">
            <b>{trans.__('The record is broken; no verdict holds.')}</b>
            <ul>
              {record.problems.slice(0, 3).map((text, index) => (
                <li key={index}>{text}</li>
              ))}
            </ul>
          </div>
        )}
        {!compact && (
          <div className="jp-reclaim-Banner-body">
            {this._claim(verdict)}
            <OnTheLine scale={paper?.scale ?? null} verdict={verdict} why={why(verdict, detail, trans)} trans={trans} />
            {this._spend()}
          </div>
        )}
        {!compact && this._evidence(verdict)}
        {this._live()}
      </div>
    );
  }

  private _seal(record: IRecord | null): React.ReactNode {
    const { trans } = this.props;
    if (record === null) {
      const running = this.props.state.detail?.attempt.state === 'running';
      return (
        <span
          className="jp-reclaim-dim"
          title={running ? trans.__('The record is checked when the attempt has ended.') : ''}
        >
          {running ? trans.__('being recorded') : trans.__('checking the record…')}
        </span>
      );
    }
    if (record.state === 'none') {
      return <span className="jp-reclaim-dim">{trans.__('no record of ours: made elsewhere')}</span>;
    }
    const text = trans.__('%1 events\nhead %2', record.events, record.head);
    return record.state === 'sound' ? (
      <span className="jp-reclaim-seal jp-mod-sound" title={text}>
        ✓ {record.ended ? trans.__('record intact') : trans.__('record intact so far')}
      </span>
    ) : (
      <span className="jp-reclaim-seal jp-mod-broken" title={record.problems.join('\n')}>
        ✗ {trans.__('record broken')}
      </span>
    );
  }

  private _outcome(verdict: IVerdict | null): React.ReactNode {
    const { trans } = this.props;
    const { attempt, ending } = this.props.state.detail as IDetail;
    const mark = markOf(attempt);
    const broken = this.props.state.record?.state === 'broken';
    if (verdict === null) {
      const text = attempt.state === 'ended' ? trans.__('no verdict yet') : term(mark, trans);
      return (
        <span className="jp-reclaim-outcome jp-mod-ungraded" title={ending ?? meaningOf(mark, trans)}>
          {text}
        </span>
      );
    }
    return (
      <span title={`${verdict.meaning}\n${meaningOf(verdict.outcome, trans)}`}>
        {broken && <span className="jp-reclaim-outcome jp-mod-void">{trans.__('void')} </span>}
        <span className={`jp-reclaim-outcome ${broken ? 'jp-mod-struck' : `jp-mod-${verdict.outcome}`}`}>
          {term(verdict.outcome, trans)}
        </span>
        <span className="jp-reclaim-dim">
          {verdict.cause ? ` · ${verdict.cause}` : ''} · {verdict.grader}
        </span>
      </span>
    );
  }

  private _claim(verdict: IVerdict | null): React.ReactNode {
    const detail = this.props.state.detail as IDetail;
    const { attempt, paper, spec } = detail;
    const { trans } = this.props;
    const files = detail.verdicts.filter(one => one.verdict !== null);
    const network = spec?.kernel?.network === 'open' ? trans.__('network open') : trans.__('no network');
    return (
      <div className="jp-reclaim-Banner-claim">
        <div>
          <span className="jp-reclaim-Chip" title={tierText(attempt.tier, trans)}>
            {attempt.tier || '?'}
          </span>
          {attempt.kernel !== '' && (
            <span
              className={`jp-reclaim-Chip${attempt.unsandboxed ? ' jp-mod-warn' : ''}`}
              title={attempt.unsandboxed ? trans.__('cells ran as a plain process of the user, without a sandbox') : ''}
            >
              {attempt.kernel}
              {` · ${attempt.unsandboxed ? trans.__('unsandboxed') : network}`}
            </span>
          )}
          {paper && paper.audit !== 'sound' && (
            <span className={`jp-reclaim-Chip jp-mod-${paper.audit}`} title={paper.audit_reasons.join('\n')}>
              {trans.__('%1 card', term(paper.audit, trans))}
            </span>
          )}
        </div>
        <Claim detail={detail}>
          {paper && paper.direction !== 'none' && trans.__(', %1 is better', term(paper.direction, trans))}
        </Claim>
        <div className="jp-reclaim-Banner-outcome">
          {this._outcome(verdict)}
          {files.length > 1 && (
            <select
              className="jp-reclaim-Select"
              aria-label={trans.__('Verdict')}
              value={this.state.file ?? files[files.length - 1].file}
              onChange={event => this.setState({ file: event.target.value })}
            >
              {files.map(one => (
                <option key={one.file} value={one.file}>
                  {one.file.replace(/^verdict\.|\.json$/g, '')}
                </option>
              ))}
            </select>
          )}
        </div>
      </div>
    );
  }

  private _spend(): React.ReactNode {
    const { detail, live, cells } = this.props.state;
    const { trans } = this.props;
    const { attempt, paper, ending } = detail as IDetail;
    const need = paper?.need_hours ?? null;
    const ofNeed = ratio(spentOf(detail as IDetail, live), need);
    return (
      <Spend detail={detail as IDetail} live={live} need={need} trans={trans}>
        <div className="jp-reclaim-Row-line jp-reclaim-dim">
          <span
            title={[
              trans.__('hours the experiment takes by audit: the mark on the bar'),
              ...(ofNeed === null ? [] : [trans.__('spent: %1 × of it', ofNeed)])
            ].join('\n')}
          >
            {trans.__('need %1', span(need))}
          </span>
          <span title={ending ?? ''}>
            {attempt.reason ? trans.__('ended: %1', term(attempt.reason, trans)) : term(attempt.state, trans)}
          </span>
        </div>
        <div className="jp-reclaim-Row-line jp-reclaim-dim">
          <span>{trans.__('%1 turns · %2 cells · %3 errors', cells.turns, cells.code, cells.errors)}</span>
          <span title={attempt.started ?? ''}>
            {attempt.started ? attempt.started.slice(0, 16).replace('T', ' ') : ''}
          </span>
        </div>
      </Spend>
    );
  }

  private _evidence(verdict: IVerdict | null): React.ReactNode {
    if (verdict === null) {
      return null;
    }
    const { trans, actions } = this.props;
    const link = (place: ICitation | IFact, label: string, kind: string, key: string) => {
      const line = 'line' in place ? place.line : place.text;
      const label_ = label;
      return (
        <button
          key={key}
          className={`jp-reclaim-Evidence jp-mod-${kind}`}
          disabled={place.cell === null}
          title={`${label_}\n${line}\n${trans.__('Go to the cell')}`}
          onClick={() => actions.jump({ cell: place.cell, output: place.output, text: place.text, line })}
        >
          <span className="jp-reclaim-dim">{label_}</span> <code>{cut(line)}</code>
        </button>
      );
    };
    const report = verdict.self_report;
    return (
      <div className="jp-reclaim-Banner-evidence" aria-label={trans.__('Evidence')}>
        {verdict.citations
          .slice(0, 6)
          .map((one, index) =>
            link(one, one.cell === report.cell ? trans.__('handed in') : trans.__('evidence'), 'cited', `c${index}`)
          )}
        {verdict.because.slice(0, 6).map((one, index) => link(one, term(one.rule, trans), 'because', `b${index}`))}
        {report.value !== null && (
          <span
            className="jp-reclaim-Banner-report"
            title={trans.__('What the agent says of its result. It is never evidence.')}
          >
            {trans.__('handed in')} {quantity(report.value, verdict.unit)}
            {report.agrees === false ? ` · ${trans.__('not what was measured')}` : ''}
            {report.note ? <i> “{cut(report.note)}”</i> : null}
          </span>
        )}
      </div>
    );
  }

  private _live(): React.ReactNode {
    const { live, detail } = this.props.state;
    if (live === null || detail?.attempt.state !== 'running') {
      return null;
    }
    const { trans } = this.props;
    return (
      <div className="jp-reclaim-Banner-live" role="status" aria-live="off">
        <Mark mark="running" trans={trans} />
        <span>
          {live.turn === null ? '' : trans.__('turn %1', live.turn)}
          {live.running ? ` · ${since(live.since, this.state.now)}` : ` · ${trans.__('between cells (not charged)')}`}
        </span>
        <code>{live.running ? live.line : ''}</code>
      </div>
    );
  }

  private _timer = 0;
}

function why(verdict: IVerdict | null, detail: IDetail, trans: TranslationBundle): string {
  const band = detail.paper?.criterion;
  if (verdict === null) {
    return band ? trans.__('reproduced if %1', band) : '';
  }
  const parts: string[] = [];
  if (verdict.place !== null && verdict.place !== 'inside' && verdict.distance !== null) {
    const distance = quantity(verdict.distance, verdict.unit);
    parts.push(
      verdict.tolerances === null
        ? trans.__('%1 outside the band', distance)
        : trans.__('%1 outside the band (%2 × tolerance)', distance, verdict.tolerances)
    );
  } else {
    parts.push(verdict.meaning);
  }
  if (verdict.strict_place !== null) {
    parts.push(trans.__('strict bar: %1', term(verdict.strict_place, trans)));
  }
  if (verdict.flags.length > 0) {
    parts.push(trans.__('flags: %1', verdict.flags.map(flag => term(flag, trans)).join(', ')));
  }
  return parts.filter(Boolean).join(' · ');
}

function ratio(part: string | null | undefined, whole: string | null | undefined): string | null {
  const value = Number(part ?? NaN) / Number(whole ?? NaN);
  return Number.isFinite(value)
    ? value < 0.1
      ? '<0.1'
      : value < 10
        ? value.toFixed(1)
        : String(Math.round(value))
    : null;
}

function cut(text: string): string {
  const line = text.split('\n')[0];
  return line.length > 70 ? `${line.slice(0, 68)}…` : line;
}
