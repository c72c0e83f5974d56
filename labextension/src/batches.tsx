import { Dialog, InputDialog, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { ReactWidget, runIcon, stopIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { ICommandOptions } from './commands';
import { PlanView } from './components/PlanView';
import { BatchesModel } from './model/batches';
import { IPlan } from './tokens';

const YAML = /\.ya?ml$/;

/** Batches as commands, and in the file browser where a file is a plan. */
export function addBatchCommands(
  { app, model, trans }: ICommandOptions,
  batches: BatchesModel,
  browser: IDefaultFileBrowser | null
): void {
  const { commands } = app;
  const plans = browser === null ? null : new Plans(browser, folder => model.api.plans(folder));

  commands.addCommand('reclaim:start-batch', {
    label: args => (args.selected ? trans.__('Start Batch…') : trans.__('Start Batch from a Plan…')),
    caption: trans.__('Make all attempts that a plan file asks for'),
    icon: runIcon,
    describedBy: { args: { type: 'object', properties: { path: { type: 'string' }, selected: { type: 'boolean' } } } },
    isVisible: args => !args.selected || (plans?.selected ?? null) !== null,
    execute: async args => {
      const path = (args.path as string | undefined) ?? plans?.selected ?? (await choose());
      if (path === null) {
        return;
      }
      try {
        const plan = await model.api.plan(path);
        if (await agreed(plan)) {
          await model.api.startBatch(path);
          await batches.refresh();
          app.shell.activateById('jp-reclaim-panel');
        }
      } catch (problem) {
        void showErrorMessage(trans.__('This plan is not carried out'), (problem as Error).message);
      }
    }
  });

  commands.addCommand('reclaim:stop-batch', {
    label: trans.__('Stop Batch…'),
    icon: stopIcon,
    describedBy: { args: { type: 'object', properties: { folder: { type: 'string' } } } },
    isEnabled: () => batches.running.length > 0,
    execute: async args => {
      const folder = (args.folder as string | undefined) ?? (await chooseRunning());
      const batch = batches.running.find(one => one.folder === folder);
      if (!batch) {
        return;
      }
      const sure = await showDialog({
        title: trans.__('Stop the batch %1?', batch.name),
        body: trans.__(
          'Its running attempts end as cancelled and count in no rate. Starting the plan again makes them anew, and what is left.'
        ),
        buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: trans.__('Stop') })]
      });
      if (!sure.button.accept) {
        return;
      }
      try {
        await model.api.stopBatch(batch.folder);
        await batches.refresh();
      } catch (problem) {
        void showErrorMessage(trans.__('That was not possible'), (problem as Error).message);
      }
    }
  });

  app.contextMenu.addItem({
    command: 'reclaim:start-batch',
    args: { selected: true },
    selector: '.jp-DirListing-item[data-isdir="false"]',
    rank: 3
  });

  async function agreed(plan: IPlan): Promise<boolean> {
    const nothing = plan.running
      ? trans.__('A pool is at work on this batch. The panel shows how far it is.')
      : plan.done === plan.total
        ? trans.__('Every attempt of this plan has its result. There is nothing left to do.')
        : null;
    const body = nothing ?? ReactWidget.create(<PlanView plan={plan} trans={trans} />);
    const answer = await showDialog({
      title: nothing === null ? trans.__('Start the batch %1?', plan.name) : trans.__('Batch %1', plan.name),
      body,
      buttons:
        nothing === null
          ? [Dialog.cancelButton(), Dialog.okButton({ label: trans.__('Start') })]
          : [Dialog.cancelButton({ label: trans.__('Close') })]
    });
    return answer.button.accept;
  }

  /** Ask for a plan in the folder that the file browser shows. */
  async function choose(): Promise<string | null> {
    const folder = plans?.folder ?? '';
    let names: string[] = [];
    try {
      names = await model.api.plans(folder);
    } catch (problem) {
      void showErrorMessage(trans.__('The plans cannot be listed'), (problem as Error).message);
      return null;
    }
    if (names.length === 0) {
      void showErrorMessage(
        trans.__('There is no plan in this folder'),
        trans.__(
          'A plan is a YAML file that names a suite or papers, and agents. Open its folder in the file browser, and try again.'
        )
      );
      return null;
    }
    const answer = await InputDialog.getItem({
      title: trans.__('Start batch'),
      label: trans.__('Plan'),
      items: names,
      okLabel: trans.__('Next')
    });
    return answer.button.accept && answer.value ? joined(folder, answer.value) : null;
  }

  async function chooseRunning(): Promise<string | null> {
    if (batches.running.length < 2) {
      return batches.running[0]?.folder ?? null;
    }
    const items = batches.running.map(batch => batch.folder);
    const answer = await InputDialog.getItem({ title: trans.__('Stop batch'), label: trans.__('Batch'), items });
    return answer.button.accept ? answer.value : null;
  }
}

/** Knows which files of the folder that is shown are plans; a menu cannot wait until somebody has looked. */
class Plans {
  constructor(
    private _browser: IDefaultFileBrowser,
    private _ask: (folder: string) => Promise<string[]>
  ) {
    _browser.model.refreshed.connect(() => void this._look());
    void this._look();
  }

  get folder(): string {
    return this._browser.model.path.replace(/^[A-Za-z]+:/, '');
  }

  /** The path of the selected file where it is a plan. */
  get selected(): string | null {
    const [item, ...more] = this._browser.selectedItems();
    return item && more.length === 0 && this._names.has(item.name) ? joined(this.folder, item.name) : null;
  }

  private async _look(): Promise<void> {
    const files = [...this._browser.model.items()].filter(item => YAML.test(item.name));
    const seen = JSON.stringify([this.folder, files.map(file => [file.name, file.last_modified])]);
    if (seen === this._seen) {
      return;
    }
    this._seen = seen;
    this._names = new Set(files.length === 0 ? [] : await this._ask(this.folder).catch(() => []));
  }

  private _seen = '';
  private _names = new Set<string>();
}

function joined(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}
