import { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, ReactWidget, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { runIcon, stopIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { agentName } from './format';
import { RunsModel } from './model/runs';
import { IAttempt } from './tokens';

/** What a page can do about running an attempt's measurement again. */
export interface IRerunning {
  start: () => void;
  /** Resolves to whether it was told to stop. */
  stop: () => Promise<boolean>;
}

/** The commands that run an attempt's measurement again, after asking how, and that stop doing so. */
export function addReexecute(given: {
  app: JupyterFrontEnd;
  model: RunsModel;
  trans: TranslationBundle;
  attemptOf: (args: any) => string | null;
}): void {
  const { app, model, trans, attemptOf } = given;
  const describedBy = { args: { type: 'object', properties: { path: { type: 'string' } } } };
  const meant = (args: any): IAttempt | null => {
    const path = attemptOf(args);
    return (path === null ? undefined : model.attempts.get(path)) ?? null;
  };
  const isEnabled = (args: any): boolean => {
    const attempt = meant(args);
    return attempt !== null && attempt.state === 'ended' && !attempt.imported;
  };

  app.commands.addCommand('reclaim:reexecute', {
    label: trans.__('Re-execute Attempt…'),
    caption: trans.__('Run the measurement again in a fresh kernel, and add a verdict with what came of it'),
    icon: runIcon,
    describedBy,
    isEnabled,
    execute: async args => {
      const attempt = meant(args);
      if (attempt === null) {
        return;
      }
      const { path } = attempt;
      const form = new Form(trans, attempt.kernel, attempt.unsandboxed);
      const answer = await showDialog({
        title: trans.__('Re-execute %1 at %2', agentName(attempt), attempt.paper),
        body: form,
        buttons: [Dialog.cancelButton(), Dialog.okButton({ label: trans.__('Re-execute') })]
      });
      if (!answer.button.accept) {
        return;
      }
      try {
        await model.api.reexecute(path, form.whole);
        model.tellActed(path);
        await app.commands.execute('reclaim:open-page', { path });
      } catch (problem) {
        void showErrorMessage(trans.__('The attempt was not re-executed'), (problem as Error).message);
      }
    }
  });

  app.commands.addCommand('reclaim:stop-reexecution', {
    label: trans.__('Stop Re-execution…'),
    caption: trans.__('Stop running the measurement again; the attempt stays as it is'),
    icon: stopIcon,
    describedBy,
    isEnabled,
    execute: async args => {
      const attempt = meant(args);
      if (attempt === null) {
        return false;
      }
      const sure = await showDialog({
        title: trans.__('Stop this re-execution?'),
        body: trans.__(
          'Its kernel is stopped, and what it has run so far is removed. %1 at %2 keeps its record and its verdicts.',
          agentName(attempt),
          attempt.paper
        ),
        buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: trans.__('Stop') })]
      });
      if (!sure.button.accept) {
        return false;
      }
      try {
        await model.api.act(attempt.path, 'stop-reexecution');
        model.tellActed(attempt.path);
        return true;
      } catch (problem) {
        void showErrorMessage(trans.__('That was not possible'), (problem as Error).message);
        return false;
      }
    }
  });
}

class Form extends ReactWidget {
  constructor(
    private _trans: TranslationBundle,
    private _kernel: string,
    private _unsandboxed: boolean
  ) {
    super();
    this.addClass('jp-reclaim-Form');
  }

  whole = false;

  render(): React.ReactElement {
    const trans = this._trans;
    const choose = (whole: boolean, label: string, text: string) => (
      <label className="jp-reclaim-Choice">
        <input
          type="radio"
          name="jp-reclaim-whole"
          defaultChecked={whole === this.whole}
          onChange={() => {
            this.whole = whole;
          }}
        />
        <span>
          {label}
          <small>{text}</small>
        </span>
      </label>
    );
    return (
      <div role="radiogroup" aria-label={trans.__('What is run again')}>
        {choose(
          false,
          trans.__('The measurement'),
          trans.__('The measuring cell and what it needs, in a copy of the workspace; then with changed inputs.')
        )}
        {choose(
          true,
          trans.__('The whole notebook'),
          trans.__('Every cell, in an empty workspace. As long as the attempt.')
        )}
        <p className="jp-reclaim-dim">
          {trans.__('Runs where the attempt ran: %1.', this._kernel)}{' '}
          {this._unsandboxed && trans.__('Its cells have no sandbox there.')}
        </p>
      </div>
    );
  }
}
