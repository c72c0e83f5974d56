/** What the banner of a record and the banner above a person's work have in common. */

import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { deviceUnit, span } from '../format';
import { IDetail, ILive, IScale, IVerdict } from '../tokens';
import { BudgetBar } from './BudgetBar';
import { NumberLine } from './NumberLine';

/** Before the attempt is read, or when it cannot be. */
export function NoBanner(props: { problem: string | null; trans: TranslationBundle }): React.ReactElement {
  const { problem, trans } = props;
  return (
    <div className="jp-reclaim-Banner jp-mod-empty" role={problem ? 'alert' : 'status'}>
      {problem ?? trans.__('Reading the attempt…')}
    </div>
  );
}

export function BannerButton(props: { label: string; action: () => void; title?: string }): React.ReactElement {
  return (
    <button className="jp-mod-styled jp-mod-minimal jp-reclaim-Button" title={props.title} onClick={props.action}>
      {props.label}
    </button>
  );
}

/** The claim in a line; below it what is measured. */
export function Claim(props: { detail: IDetail; children?: React.ReactNode }): React.ReactElement {
  const { attempt, paper } = props.detail;
  return (
    <>
      <div className="jp-reclaim-Banner-title" title={paper?.claim ?? ''}>
        {attempt.title || attempt.paper}
      </div>
      {paper && (
        <div className="jp-reclaim-dim">
          {paper.metric}
          {props.children}
        </div>
      )}
    </>
  );
}

/** The number line with what the verdict says, and a sentence below it. */
export function OnTheLine(props: {
  scale: IScale | null;
  verdict: IVerdict | null;
  why: string;
  trans: TranslationBundle;
}): React.ReactElement {
  const { scale, verdict, why, trans } = props;
  return (
    <div className="jp-reclaim-Banner-line">
      {scale && (
        <NumberLine scale={scale} value={verdict?.value ?? null} outcome={verdict?.outcome ?? null} trans={trans} />
      )}
      <div className="jp-reclaim-dim jp-reclaim-Banner-why">{why}</div>
    </div>
  );
}

/** What was spent of the budget, so far or in all; below it what else there is to say of it. */
export function Spend(props: {
  detail: IDetail;
  live: ILive | null;
  need: string | null;
  trans: TranslationBundle;
  children: React.ReactNode;
}): React.ReactElement {
  const { detail, live, need, trans } = props;
  const { attempt } = detail;
  const spent = spentOf(detail, live);
  const unit = deviceUnit(attempt.device);
  return (
    <div className="jp-reclaim-Banner-spend">
      <div className="jp-reclaim-Row-line">
        <span className="jp-reclaim-dim">{trans.__('spend')}</span>
        <span>{trans.__('%1 of %2 %3', span(spent), span(attempt.budget_hours), unit)}</span>
      </div>
      <BudgetBar spent={spent} budget={attempt.budget_hours} need={need} unit={unit} trans={trans} />
      {props.children}
    </div>
  );
}

export function spentOf(detail: IDetail, live: ILive | null): string | null {
  return live?.spent_hours ?? detail.attempt.spent_hours;
}

/** The verdict that was given last, of all or of one grading. */
export function verdictOf(detail: IDetail | null, file: string | null = null): IVerdict | null {
  const found = (detail?.verdicts ?? []).filter(one => one.verdict !== null);
  const chosen = found.find(one => one.file === file) ?? found[found.length - 1];
  return chosen?.verdict ?? null;
}
