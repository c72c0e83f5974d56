import { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, ReactWidget, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { runIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { agentName } from './format';
import { RunsModel } from './model/runs';

/** The command that runs an attempt's measurement again, after asking how. */
export function addReexecute(given: {
  app: JupyterFrontEnd;
  model: RunsModel;
  trans: TranslationBundle;
  attemptOf: (args: any) => string | null;
}): void {
  const { app, model, trans, attemptOf } = given;
  app.commands.addCommand('reclaim:reexecute', {
    label: trans.__('Re-execute Attempt…'),
    caption: trans.__('Run the measurement again in a fresh kernel, and add a verdict with what came of it'),
    icon: runIcon,
    describedBy: { args: { type: 'object', properties: { path: { type: 'string' } } } },
    isEnabled: args => {
      const path = attemptOf(args);
      const attempt = path === null ? undefined : model.attempts.get(path);
      return attempt !== undefined && attempt.state === 'ended' && !attempt.imported;
    },
    execute: async args => {
      const path = attemptOf(args);
      const attempt = path === null ? undefined : model.attempts.get(path);
      if (path === null || !attempt) {
        return;
      }
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
