import { Dialog, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import { editIcon, ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';
import { ICommandOptions } from './commands';
import { HUMAN, isWorking } from './model/person';

const NUMBER = '\\s*[+\\-]?(\\d+([.]\\d*)?|[.]\\d+)([eE][+\\-]?\\d+)?\\s*';

/** What a person does with an attempt of their own, as commands. */
export function addHumanCommands({ app, documents, model, trans }: ICommandOptions): void {
  const { commands } = app;
  const argument = { type: 'object', properties: { path: { type: 'string' } } };

  commands.addCommand('reclaim:human-attempt', {
    label: args => (args.isLauncher ? trans.__('Try It Yourself') : trans.__('Make an Attempt Yourself…')),
    caption: trans.__('Try to reproduce a paper’s result in a notebook of your own; it is recorded and graded as any'),
    icon: editIcon,
    describedBy: { args: { type: 'object', properties: { paper: { type: 'string' } } } },
    execute: args => commands.execute('reclaim:new-attempt', { ...args, agent: HUMAN })
  });

  commands.addCommand('reclaim:work', {
    label: trans.__('Open Working Notebook'),
    icon: editIcon,
    describedBy: { args: argument },
    isEnabled: args => isWorking(model.attempts.get(pathOf(args) ?? '')),
    execute: async args => {
      const path = pathOf(args);
      const desk = path === null ? null : await model.api.desk(path).catch(() => null);
      if (desk === null || desk.contents_path === null) {
        void showErrorMessage(
          trans.__('The working notebook cannot be opened'),
          desk?.open
            ? trans.__('Attempts are outside of what the file browser shows. Start the server in a folder above them.')
            : trans.__('It is not there yet: the kernel is still starting. Try again in a moment.')
        );
        return undefined;
      }
      model.current = path;
      return documents.openOrReveal(desk.contents_path);
    }
  });

  const end = (name: 'submit' | 'close', label: string, ask: (path: string) => Promise<void>) =>
    commands.addCommand(`reclaim:${name}`, {
      label,
      describedBy: { args: argument },
      isEnabled: args => isWorking(model.attempts.get(pathOf(args) ?? '')),
      execute: async args => {
        const path = pathOf(args);
        if (path === null) {
          return;
        }
        try {
          await ask(path);
        } catch (problem) {
          void showErrorMessage(trans.__('That was not possible'), (problem as Error).message);
        }
      }
    });

  end('submit', trans.__('Hand In a Value…'), async path => {
    const form = new SubmitForm(trans.__('Value'), trans.__('Note'), [
      trans.__('This ends the attempt. Nothing can be run after it.'),
      trans.__('The value must be one that a cell of yours has measured and shown.'),
      trans.__('what was measured, and how it departs from the paper')
    ]);
    const result = await showDialog<ISubmission>({
      title: trans.__('Hand in a value'),
      body: form,
      focusNodeSelector: 'input',
      buttons: [Dialog.cancelButton(), Dialog.okButton({ label: trans.__('Hand In') })]
    });
    if (result.button.accept && result.value) {
      await model.api.askDesk(path, { do: 'submit', value: result.value.value.trim(), note: result.value.note });
    }
  });

  end('close', trans.__('Close Without a Value…'), async path => {
    let body = trans.__(
      'The attempt ends without a value, and is graded so. To go on later, only close the tab: the attempt stays, and its clock runs on.'
    );
    for (;;) {
      const sure = await showDialog({
        title: trans.__('Close this attempt?'),
        body,
        buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: trans.__('Close Attempt') })]
      });
      if (!sure.button.accept) {
        return;
      }
      const answer = await model.api.askDesk(path, { do: 'close' });
      if (answer.state === 'over') {
        return;
      }
      body = answer.text; // told once, before it stands
    }
  });

  function pathOf(args: any): string | null {
    const hit = app.contextMenuHitTest(node => !!node.dataset.path && node.className.includes('jp-reclaim'));
    return (args.path as string) ?? hit?.dataset.path ?? model.current;
  }

  ['work', 'submit', 'close'].forEach((name, rank) =>
    app.contextMenu.addItem({ command: `reclaim:${name}`, selector: '.jp-reclaim-attempt-item', rank: 10 + rank })
  );
}

interface ISubmission {
  value: string;
  note: string;
}

class SubmitForm extends ReactWidget implements Dialog.IBodyWidget<ISubmission> {
  constructor(
    private _value: string,
    private _note: string,
    private _texts: [string, string, string]
  ) {
    super();
    this.addClass('jp-reclaim-StartForm');
  }

  getValue(): ISubmission {
    return this._given;
  }

  render(): React.ReactElement {
    return (
      <div className="jp-reclaim-Form">
        <p>{this._texts[0]}</p>
        <label>
          <span>{this._value}</span>
          <input
            className="jp-mod-styled"
            inputMode="decimal"
            required
            pattern={NUMBER}
            onChange={event => (this._given = { ...this._given, value: event.target.value })}
          />
        </label>
        <p className="jp-reclaim-dim">{this._texts[1]}</p>
        <label>
          <span>{this._note}</span>
          <input
            className="jp-mod-styled"
            maxLength={2000}
            placeholder={this._texts[2]}
            onChange={event => (this._given = { ...this._given, note: event.target.value })}
          />
        </label>
      </div>
    );
  }

  private _given: ISubmission = { value: '', note: '' };
}
