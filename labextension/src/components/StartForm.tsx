import { Dialog, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { HTMLSelect, ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';
import { span } from '../format';
import { HUMAN } from '../model/person';
import { RunsModel } from '../model/runs';
import { IOptions, IPaper, IStart } from '../tokens';

/** What a new attempt is to be made with; the value is what the server is asked for. */
class StartForm extends ReactWidget implements Dialog.IBodyWidget<IStart> {
  constructor(
    private _papers: IPaper[],
    private _options: IOptions,
    paper: string | null,
    private _trans: TranslationBundle,
    agentName = 'replay'
  ) {
    super();
    this.addClass('jp-reclaim-StartForm');
    const kernel = _options.kernels.find(one => !one.problem) ?? _options.kernels[0];
    const agent = _options.agents.find(one => one.name === agentName) ?? _options.agents[0];
    this._value = {
      paper: paper ?? _papers[0]?.name ?? '',
      agent: agent?.name ?? '',
      kernel: kernel?.name ?? 'auto',
      network: 'none',
      batch: 'lab',
      conditions: []
    };
  }

  getValue(): IStart {
    return this._value;
  }

  render(): React.ReactElement {
    const trans = this._trans;
    const value = this._value;
    const set = (change: Partial<IStart>) => {
      this._value = { ...this._value, ...change };
      this.update();
    };
    const number = (text: string) => (text.trim() === '' || !(Number(text) > 0) ? undefined : Number(text));
    const paper = this._papers.find(one => one.name === value.paper);
    const agent = this._options.agents.find(one => one.name === value.agent);
    const kernel = this._options.kernels.find(one => one.name === value.kernel);
    const suites = [...new Set(this._papers.map(one => one.suite))];
    return (
      <div className="jp-reclaim-Form">
        <label>
          <span>{trans.__('Paper')}</span>
          <HTMLSelect value={value.paper} onChange={event => set({ paper: event.target.value })}>
            {suites.map(suite => (
              <optgroup key={suite} label={suite}>
                {this._papers
                  .filter(one => one.suite === suite)
                  .map(one => (
                    <option key={one.name} value={one.name}>
                      {one.id}
                    </option>
                  ))}
              </optgroup>
            ))}
          </HTMLSelect>
        </label>
        {paper && (
          <p className="jp-reclaim-dim">
            {paper.tier} · {paper.metric} {paper.target ?? ''} · {paper.criterion ?? trans.__('no criterion')}
          </p>
        )}
        <label>
          <span>{trans.__('Agent')}</span>
          <HTMLSelect
            value={value.agent}
            onChange={event => set({ agent: event.target.value, model: undefined, options: undefined })}
          >
            {this._options.agents.map(one => (
              <option key={one.name} value={one.name} disabled={!!one.problem}>
                {one.name === HUMAN ? trans.__('yourself, in a notebook') : one.name}
              </option>
            ))}
          </HTMLSelect>
        </label>
        <p className="jp-reclaim-dim">
          {agent?.problem ??
            (agent?.name === HUMAN
              ? trans.__('You write the cells. What you run is recorded, charged and graded as of any agent.')
              : (agent?.text ?? ''))}
        </p>
        {value.agent === 'replay' && paper && paper.replayable === false && (
          <p className="jp-reclaim-warn">{trans.__('This paper has no reference notebook to replay.')}</p>
        )}
        {value.agent === HUMAN ? (
          <label>
            <span>{trans.__('Your name')}</span>
            <input
              className="jp-mod-styled"
              placeholder={trans.__('or a pseudonym, for the record')}
              onChange={event =>
                set({ options: event.target.value.trim() ? { person: event.target.value.trim() } : undefined })
              }
            />
          </label>
        ) : (
          <label>
            <span>{trans.__('Model')}</span>
            <input
              className="jp-mod-styled"
              placeholder={trans.__('only for agents that have one')}
              value={value.model ?? ''}
              onChange={event => set({ model: event.target.value || undefined })}
            />
          </label>
        )}
        <label>
          <span>{trans.__('Kernel')}</span>
          <HTMLSelect value={value.kernel} onChange={event => set({ kernel: event.target.value })}>
            {this._options.kernels.map(one => (
              <option key={one.name} value={one.name} disabled={!!one.problem}>
                {one.name}
              </option>
            ))}
          </HTMLSelect>
        </label>
        <p className={kernel?.name === 'local' ? 'jp-reclaim-warn' : 'jp-reclaim-dim'}>
          {kernel?.problem ?? kernel?.text ?? ''}
          {this._options.kernels
            .filter(one => one.problem && one.name !== value.kernel)
            .map(one => ` · ${one.name}: ${one.problem}`)}
        </p>
        <label>
          <span>{trans.__('Budget, hours')}</span>
          <input
            className="jp-mod-styled"
            inputMode="decimal"
            placeholder={paper ? trans.__('the card’s: %1 (%2)', paper.budget_hours, span(paper.budget_hours)) : ''}
            onChange={event => set({ budget_hours: number(event.target.value) })}
          />
        </label>
        <details>
          <summary>{trans.__('More')}</summary>
          <label>
            <span>{trans.__('Most cells')}</span>
            <input
              className="jp-mod-styled"
              inputMode="numeric"
              onChange={event => set({ turns: number(event.target.value) })}
            />
          </label>
          <label>
            <span>{trans.__('Most seconds')}</span>
            <input
              className="jp-mod-styled"
              inputMode="decimal"
              onChange={event => set({ wall_clock_seconds: number(event.target.value) })}
            />
          </label>
          <label>
            <span>{trans.__('Network')}</span>
            <HTMLSelect value={value.network} onChange={event => set({ network: event.target.value })}>
              <option value="none">{trans.__('none')}</option>
              <option value="open">{trans.__('open')}</option>
            </HTMLSelect>
          </label>
          <label>
            <span>{trans.__('Batch')}</span>
            <input
              className="jp-mod-styled"
              value={value.batch}
              onChange={event => set({ batch: event.target.value })}
            />
          </label>
          {this._options.conditions.map(one => (
            <label key={one.name} className="jp-mod-check" title={one.text}>
              <input
                type="checkbox"
                checked={value.conditions.includes(one.name)}
                onChange={event =>
                  set({
                    conditions: event.target.checked
                      ? [...value.conditions, one.name]
                      : value.conditions.filter(name => name !== one.name)
                  })
                }
              />
              <span>
                {one.name} <span className="jp-reclaim-dim">{one.text}</span>
              </span>
            </label>
          ))}
        </details>
      </div>
    );
  }

  private _value: IStart;
}

/** Ask what to make, make it, and return the path of the attempt; null when nothing was begun. */
export async function startAttempt(
  model: RunsModel,
  paper: string | null,
  trans: TranslationBundle,
  agent?: string
): Promise<string | null> {
  let options: IOptions;
  try {
    options = await model.api.options();
  } catch (problem) {
    void showErrorMessage(trans.__('No attempt can be made'), (problem as Error).message);
    return null;
  }
  const papers = model.suites.flatMap(suite => suite.papers);
  if (papers.length === 0) {
    void showErrorMessage(trans.__('No attempt can be made'), trans.__('There is no suite with papers.'));
    return null;
  }
  const result = await showDialog<IStart>({
    title: trans.__('New attempt'),
    body: new StartForm(papers, options, paper, trans, agent),
    buttons: [Dialog.cancelButton(), Dialog.okButton({ label: trans.__('Start') })]
  });
  if (!result.button.accept || result.value === null) {
    return null;
  }
  try {
    return (await model.api.start(result.value)).path;
  } catch (problem) {
    void showErrorMessage(trans.__('The attempt did not start'), (problem as Error).message);
    return null;
  }
}
