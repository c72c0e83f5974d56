/** Numbers, hours and words as people read them. Nothing here knows the lab. */

import { TranslationBundle } from '@jupyterlab/translation';
import { term } from './terms';
import { IAttempt, IPaper } from './tokens';

export const OUTCOMES = [
  'reproduced',
  'near_miss',
  'not_reproduced',
  'blocked',
  'unverifiable',
  'disqualified',
  'needs_human',
  'ungraded'
] as const;

/** Ends that are not the agent's result; they are shown, and stand in no rate. */
export const NOT_COUNTED = ['infrastructure_error', 'cancelled'];

/** How an attempt is marked: its outcome, or why it has none. */
export function markOf(attempt: IAttempt): string {
  if (attempt.state !== 'ended') {
    return attempt.state;
  }
  if (attempt.reason !== null && NOT_COUNTED.includes(attempt.reason)) {
    return 'not_counted';
  }
  return attempt.outcome !== null && (OUTCOMES as readonly string[]).includes(attempt.outcome)
    ? attempt.outcome
    : 'ungraded';
}

/** A length of time given in hours: `9.1 s`, `3 min`, `2.7 h`. */
export function span(hours: string | number | null | undefined): string {
  const value = typeof hours === 'string' ? Number(hours) : hours;
  if (value === null || value === undefined || !Number.isFinite(value)) {
    return '–';
  }
  const seconds = value * 3600;
  if (seconds < 59.95) {
    return `${short(seconds)} s`;
  }
  if (seconds < 3597) {
    return `${short(seconds / 60)} min`;
  }
  return `${short(value)} h`;
}

/** At most one digit after the point, and none from ten on. */
export function short(value: number): string {
  if (value === 0) {
    return '0';
  }
  if (Math.abs(value) < 0.05) {
    return '<0.1';
  }
  return Math.abs(value) < 9.95 ? String(Math.round(value * 10) / 10) : String(Math.round(value));
}

/** The device that hours are counted on. */
export function deviceUnit(device: string): string {
  return device === 'cpu' ? 'CPU' : 'H100';
}

/** `4.6 s of 3 min CPU` */
export function spend(attempt: IAttempt, trans: TranslationBundle, spent: string | null = attempt.spent_hours): string {
  const unit = deviceUnit(attempt.device);
  return attempt.budget_hours === null
    ? `${span(spent)} ${unit}`
    : trans.__('%1 of %2 %3', span(spent), span(attempt.budget_hours), unit);
}

/** Part of the whole between 0 and 1; null where it cannot be said. */
export function share(part: string | null | undefined, whole: string | null | undefined): number | null {
  const value = Number(part ?? NaN) / Number(whole ?? NaN);
  return Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : null;
}

/** A number with its unit; `none` is no unit. */
export function quantity(value: string | null, unit: string): string {
  if (value === null) {
    return '–';
  }
  return unit === 'none' || unit === '' ? value : unit === 'percent' ? `${value} %` : `${value} ${unit}`;
}

/** Agent, model and conditions, as one name. */
export function agentName(attempt: IAttempt): string {
  const model = attempt.model ? ` ${attempt.model}` : '';
  const conditions = attempt.conditions ? ` +${attempt.conditions.split(',').join(' +')}` : '';
  return `${attempt.agent}${model}${conditions}`;
}

/** `need 3 s · 3 min` */
export function hoursLine(paper: IPaper, trans: TranslationBundle): string {
  const need = paper.need_hours === null ? trans.__('need unknown') : trans.__('need %1', span(paper.need_hours));
  return `${need} · ${span(paper.budget_hours)}`;
}

/** An attempt in one sentence, for tooltips and screen readers. */
export function sentence(attempt: IAttempt, trans: TranslationBundle): string {
  const parts = [trans.__('%1, repeat %2: %3', agentName(attempt), attempt.repeat, term(markOf(attempt), trans))];
  if (attempt.value !== null) {
    parts.push(trans.__('measured %1', quantity(attempt.value, attempt.unit)));
  }
  if (attempt.cause) {
    parts.push(trans.__('cause %1', attempt.cause));
  }
  if (attempt.reason) {
    parts.push(trans.__('ended: %1', term(attempt.reason, trans)));
  }
  parts.push(spend(attempt, trans));
  return parts.join(' · ');
}

/** Seconds since a moment, as a clock. */
export function since(time: string | null, now: number): string {
  const seconds = time === null ? NaN : Math.max(0, (now - Date.parse(time)) / 1000);
  if (!Number.isFinite(seconds)) {
    return '';
  }
  const whole = Math.floor(seconds);
  return whole < 60
    ? `${whole} s`
    : whole < 3600
      ? `${Math.floor(whole / 60)} min ${whole % 60} s`
      : `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** Seconds with one digit, for a cell. */
export function cellSeconds(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) {
    return '';
  }
  return span(seconds / 3600);
}
