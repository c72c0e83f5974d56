import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { span } from '../format';
import { term, words } from '../terms';
import { FactsTable } from './FactsTable';

type Facts = { [name: string]: any };

/** A record that was made elsewhere: what it says of itself in our words, and below them all of it in its own. */
export function ImportedFacts(props: { facts: Facts; trans: TranslationBundle }): React.ReactElement {
  const { facts, trans } = props;
  const lines = linesOf(facts.run ?? {}, trans);
  const source = facts.source ?? {};
  return (
    <section>
      <h2>{trans.__('Imported record')}</h2>
      <p className="jp-reclaim-dim">
        {trans.__('Made and judged elsewhere: there is no notebook, and no record that could be checked here.')}
      </p>
      <FactsTable lines={lines} />
      {typeof facts.run?.audit?.rationale === 'string' && facts.run.audit.rationale !== '' && (
        <blockquote className="jp-reclaim-Rationale">{facts.run.audit.rationale}</blockquote>
      )}
      <details>
        <summary>{trans.__('All fields, as %1 has them', source.file ?? trans.__('the release'))}</summary>
        <FactsTable lines={flat({ run: facts.run, source })} />
      </details>
    </section>
  );
}

/** What a reader looks for in a published run, each with its name. */
export function linesOf(run: Facts, trans: TranslationBundle): [string, string][] {
  const lines: [string, string][] = [];
  const add = (name: string, value: string | null): void => {
    if (value) {
      lines.push([name, value]);
    }
  };
  const count = (value: unknown): string | null => (Number(value) > 0 ? Number(value).toLocaleString('en') : null);
  const audit = run.audit ?? {};
  add(trans.__('Claim'), text(run.claim));
  add(trans.__('Target'), text(run.target));
  add(trans.__('Ended'), text(run.exit_label));
  add(
    trans.__('Judged elsewhere'),
    text(audit.verdict) && trans.__('%1, score %2 of 10', term(audit.verdict, trans), audit.score)
  );
  add(trans.__('The agent said'), text(run.self_report) && term(run.self_report, trans));
  const failure = [run.mode_slug, run.mode].find(one => text(one) !== null && one !== 'other');
  add(trans.__('How it went'), failure ? String(failure).replace(/[-_]/g, ' ') : null);
  add(trans.__('Flags'), flagsOf(audit.flags, trans));
  add(
    trans.__('Spent'),
    run.spent_h100 === undefined ? null : trans.__('%1 of %2, H100 hours', span(run.spent_h100), span(run.budget_h100))
  );
  add(trans.__('Time'), Number(run.duration_s) > 0 ? span(Number(run.duration_s) / 3600) : null);
  add(trans.__('Turns'), count(run.rounds));
  add(trans.__('Tool calls'), count(run.tool_calls));
  const tokens = run.tokens ?? {};
  add(
    trans.__('Tokens'),
    count(tokens.total) &&
      trans.__(
        '%1 in (%2 cached), %3 out',
        count(tokens.prompt) ?? '0',
        count(tokens.cached) ?? '0',
        count(tokens.completion) ?? '0'
      )
  );
  return lines;
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

/** `other provenance break (medium, 2 ×)`: flags of a kind and severity once. */
function flagsOf(flags: unknown, trans: TranslationBundle): string | null {
  const medium = trans.__('medium');
  const severities: { [short: string]: string } = { low: trans.__('low'), med: medium, medium, high: trans.__('high') };
  const counted = new Map<string, number>();
  for (const flag of Array.isArray(flags) ? flags : []) {
    const severity = severities[String(flag?.severity)] ?? String(flag?.severity);
    const name = `${term(String(flag?.kind), trans)} (${severity})`;
    counted.set(name, (counted.get(name) ?? 0) + 1);
  }
  return [...counted].map(([name, times]) => (times > 1 ? `${times} × ${name}` : name)).join('; ') || null;
}

function flat(facts: Facts): [string, string][] {
  const lines: [string, string][] = [];
  const add = (name: string, value: unknown): void => {
    if (value === null || value === undefined || value === '') {
      return;
    }
    if (Array.isArray(value)) {
      value.forEach(one => add(name, typeof one === 'object' && one !== null ? Object.values(one).join(', ') : one));
    } else if (typeof value === 'object') {
      Object.entries(value).forEach(([inner, one]) => add(`${name} · ${inner}`, one));
    } else {
      lines.push([words(name), String(value)]);
    }
  };
  Object.entries(facts).forEach(([name, value]) => add(name, value));
  return lines;
}
