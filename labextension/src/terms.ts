/** The words of records and cards, and what they mean, in the person's language. Nothing here knows the lab. */

import { TranslationBundle } from '@jupyterlab/translation';

interface ITerms {
  names: Map<string, string>;
  meanings: Map<string, string>;
  tiers: Map<string, string>;
}

const known = new WeakMap<TranslationBundle, ITerms>();

/** Words of the record, as words. */
export function words(name: string | null | undefined): string {
  return (name ?? '').replace(/_/g, ' ');
}

/** A word of a record: an outcome, an end reason, a status; one that nobody has translated stands as it is. */
export function term(name: string | null | undefined, trans: TranslationBundle): string {
  return termsOf(trans).names.get(name ?? '') ?? words(name);
}

/** What a mark says of an attempt, as a sentence. */
export function meaningOf(mark: string, trans: TranslationBundle): string {
  return termsOf(trans).meanings.get(mark) ?? '';
}

/** What the authors of a paper of a tier have published. */
export function tierText(tier: string, trans: TranslationBundle): string {
  return termsOf(trans).tiers.get(tier) ?? '';
}

function termsOf(trans: TranslationBundle): ITerms {
  let terms = known.get(trans);
  if (terms === undefined) {
    const map = (texts: { [name: string]: string }) => new Map(Object.entries(texts));
    terms = { names: map(namesIn(trans)), meanings: map(meaningsIn(trans)), tiers: map(tiersIn(trans)) };
    known.set(trans, terms);
  }
  return terms;
}

function namesIn(trans: TranslationBundle): { [name: string]: string } {
  return {
    // outcomes, and why there is none
    reproduced: trans.__('reproduced'),
    near_miss: trans.__('near miss'),
    not_reproduced: trans.__('not reproduced'),
    blocked: trans.__('blocked'),
    unverifiable: trans.__('unverifiable'),
    disqualified: trans.__('disqualified'),
    needs_human: trans.__('needs human'),
    ungraded: trans.__('ungraded'),
    running: trans.__('running'),
    ended: trans.__('ended'),
    dead_runner: trans.__('dead runner'),
    unreadable: trans.__('unreadable'),
    not_counted: trans.__('not counted'),
    // end reasons
    submitted: trans.__('submitted'),
    agent_stopped: trans.__('agent stopped'),
    budget_exhausted: trans.__('budget exhausted'),
    wall_clock: trans.__('wall clock'),
    turn_limit: trans.__('turn limit'),
    token_limit: trans.__('token limit'),
    cost_limit: trans.__('cost limit'),
    kernel_died: trans.__('kernel died'),
    agent_error: trans.__('agent error'),
    infrastructure_error: trans.__('infrastructure error'),
    cancelled: trans.__('cancelled'),
    // of cells
    ok: trans.__('ok'),
    error: trans.__('error'),
    interrupted: trans.__('interrupted'),
    timeout: trans.__('timeout'),
    killed: trans.__('killed'),
    not_run: trans.__('not run'),
    harness: trans.__('harness'),
    agent: trans.__('agent'),
    human: trans.__('human'),
    // of cards
    higher: trans.__('higher'),
    lower: trans.__('lower'),
    sound: trans.__('sound'),
    doubtful: trans.__('doubtful'),
    broken: trans.__('broken')
  };
}

function meaningsIn(trans: TranslationBundle): { [mark: string]: string } {
  return {
    reproduced: trans.__('the measured value lies inside the criterion'),
    near_miss: trans.__('outside the criterion by at most one more tolerance'),
    not_reproduced: trans.__('measured, and outside the criterion'),
    blocked: trans.__('something that was needed could not be had'),
    unverifiable: trans.__('the record does not show where the number comes from'),
    disqualified: trans.__('the number was not measured by this attempt'),
    needs_human: trans.__('a person has to decide'),
    ungraded: trans.__('no verdict yet'),
    running: trans.__('running now'),
    dead_runner: trans.__('its runner died; it can be resumed'),
    unreadable: trans.__('its record cannot be read'),
    not_counted: trans.__('ended by the harness or a person; not the agent’s result')
  };
}

function tiersIn(trans: TranslationBundle): { [tier: string]: string } {
  return {
    run: trans.__('the authors published code, data and weights'),
    retrain: trans.__('the authors published code, but no weights'),
    reimplement: trans.__('no code of the authors is available')
  };
}
