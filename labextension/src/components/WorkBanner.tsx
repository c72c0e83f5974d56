import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { markOf, since, span } from '../format';
import { blind } from '../model/person';
import { meaningOf, term } from '../terms';
import { IDetail, ILive, IVerdict } from '../tokens';
import { BannerButton, Claim, NoBanner, OnTheLine, Spend, verdictOf } from './BannerParts';
import { Mark } from './Mark';

export interface IWorkState {
  detail: IDetail | null;
  live: ILive | null;
  problem: string | null;
}

export interface IWorkActions {
  submit(): void;
  close(): void;
  resume(): void;
  openRecord(): void;
}

/** Above a person's working notebook: the task in a line, the live budget, and how to end it. */
export class WorkBanner extends React.Component<
  { state: IWorkState; actions: IWorkActions; trans: TranslationBundle },
  { now: number }
> {
  state = { now: Date.now() };

  componentDidMount(): void {
    this._timer = window.setInterval(() => this.setState({ now: Date.now() }), 1000);
  }

  componentWillUnmount(): void {
    window.clearInterval(this._timer);
  }

  render(): React.ReactNode {
    const { detail, problem } = this.props.state;
    const { actions, trans } = this.props;
    if (detail === null) {
      return <NoBanner problem={problem} trans={trans} />;
    }
    const { attempt, paper, spec } = detail;
    const person = spec?.agent?.options?.person as string | undefined;
    const working = attempt.state === 'running';
    const verdict = verdictOf(detail);
    const scale = paper && (working ? blind(paper.scale) : paper.scale);
    const why = verdict?.meaning ?? (paper?.criterion ? trans.__('reproduced if %1', paper.criterion) : '');
    return (
      <div className="jp-reclaim-Banner jp-mod-work" role="region" aria-label={trans.__('Your attempt')}>
        <div className="jp-reclaim-Banner-head">
          <Mark mark={markOf(attempt)} trans={trans} />
          <span className="jp-reclaim-Banner-name">
            <b>{attempt.paper}</b> · {person ?? trans.__('you')} · {attempt.repeat}
          </span>
          <span className="jp-reclaim-dim">
            {working ? trans.__('every cell you run is recorded, and stays') : this._ended(verdict)}
          </span>
          <span className="jp-reclaim-Banner-buttons">
            {working && <BannerButton label={trans.__('Hand In…')} action={actions.submit} />}
            {working && <BannerButton label={trans.__('Close…')} action={actions.close} />}
            <BannerButton
              label={trans.__('Record')}
              action={actions.openRecord}
              title={trans.__('The notebook that is judged')}
            />
          </span>
        </div>
        {attempt.state === 'dead_runner' && (
          <div className="jp-reclaim-Banner-note" role="alert">
            {trans.__('The process that records this attempt is gone, so no cell runs.')}{' '}
            <button className="jp-reclaim-Link" onClick={actions.resume}>
              {trans.__('Go on where it stopped')}
            </button>
          </div>
        )}
        <div className="jp-reclaim-Banner-body">
          <div className="jp-reclaim-Banner-claim">
            <div>
              <span className="jp-reclaim-Chip">{attempt.tier}</span>
              <span className={`jp-reclaim-Chip${attempt.unsandboxed ? ' jp-mod-warn' : ''}`}>
                {attempt.kernel}
                {attempt.unsandboxed ? ` · ${trans.__('unsandboxed')}` : ''}
              </span>
            </div>
            <Claim detail={detail} />
          </div>
          <OnTheLine scale={scale} verdict={verdict} why={why} trans={trans} />
          {this._spend(working)}
        </div>
      </div>
    );
  }

  private _ended(verdict: IVerdict | null): React.ReactNode {
    const { trans } = this.props;
    const { attempt, ending } = this.props.state.detail as IDetail;
    if (attempt.state !== 'ended') {
      return term(attempt.state, trans);
    }
    if (verdict === null) {
      const due = attempt.reason !== 'cancelled' && attempt.reason !== 'infrastructure_error';
      return (
        <span title={ending ?? ''} role="status">
          {trans.__('ended: %1', term(attempt.reason, trans))}
          {due ? ` · ${trans.__('being graded…')}` : ''}
        </span>
      );
    }
    return (
      <span title={meaningOf(verdict.outcome, trans)} role="status">
        <span className={`jp-reclaim-outcome jp-mod-${verdict.outcome}`}>{term(verdict.outcome, trans)}</span>
        {verdict.cause ? ` · ${verdict.cause}` : ''} · {verdict.grader} ·{' '}
        {trans.__('ended: %1', term(attempt.reason, trans))}
      </span>
    );
  }

  private _spend(working: boolean): React.ReactNode {
    const { trans } = this.props;
    const { detail, live } = this.props.state;
    const { attempt, spec } = detail as IDetail;
    const limits = spec?.limits ?? {};
    const passed = working ? since(attempt.started, this.state.now) : '';
    const most = limits.wall_clock_seconds ? span(Number(limits.wall_clock_seconds) / 3600) : null;
    return (
      <Spend detail={detail as IDetail} live={live} need={null} trans={trans}>
        <div className="jp-reclaim-Row-line jp-reclaim-dim">
          <span title={trans.__('It passes whether or not you work')}>
            {working && most ? trans.__('clock: %1 of %2', passed, most) : ''}
          </span>
          <span>
            {live?.turn && limits.turns
              ? trans.__('%1 of %2 cells', live.turn, limits.turns)
              : live?.turn
                ? trans._n('%1 cell', '%1 cells', live.turn)
                : ''}
          </span>
        </div>
        <div className="jp-reclaim-Row-line jp-reclaim-dim">
          <span>{live?.running ? trans.__('running: %1', since(live.since, this.state.now)) : ''}</span>
        </div>
      </Spend>
    );
  }

  private _timer = 0;
}
