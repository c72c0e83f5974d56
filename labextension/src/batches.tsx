import { Dialog, InputDialog, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { ReactWidget, runIcon, stopIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { ICommandOptions } from './commands';
import { PlanView } from './components/PlanView';
import { BatchesModel, standings, unfinished } from './model/batches';
import { IBatch, IPlan } from './tokens';

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
        if (await agreed(plan, trans.__('Start the batch %1?', plan.name), trans.__('Start'))) {
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
      const batch = await meant(args, batches.running, trans.__('Stop batch'));
      if (batch === null) {
        return;
      }
      const sure = await showDialog({
        title: trans.__('Stop the batch %1?', batch.name),
        body: trans.__(
          'Its running attempts end as cancelled and count in no rate. Resuming the batch makes them anew, and what is left.'
        ),
        buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: trans.__('Stop') })]
      });
      if (!sure.button.accept) {
        return;
      }
      try {
        await model.api.actOnBatch(batch.folder, 'stop');
        await batches.refresh();
      } catch (problem) {
        void showErrorMessage(trans.__('That was not possible'), (problem as Error).message);
      }
    }
  });

  const resumable = (): IBatch[] => unfinished(standings(batches.all, model.attempts.values())).map(one => one.batch);
  commands.addCommand('reclaim:resume-batch', {
    label: trans.__('Resume Batch…'),
    caption: trans.__('Go on with a batch by the plan it was begun with'),
    icon: runIcon,
    describedBy: { args: { type: 'object', properties: { folder: { type: 'string' } } } },
    isEnabled: () => resumable().length > 0,
    execute: async args => {
      const batch = await meant(args, resumable(), trans.__('Resume batch'));
      if (batch === null) {
        return;
      }
      try {
        const plan = await model.api.batchPlan(batch.folder);
        if (await agreed(plan, trans.__('Resume the batch %1?', plan.name), trans.__('Resume'))) {
          await model.api.actOnBatch(batch.folder, 'resume');
          await batches.refresh();
          app.shell.activateById('jp-reclaim-panel');
        }
      } catch (problem) {
        void showErrorMessage(trans.__('This batch is not resumed'), (problem as Error).message);
      }
    }
  });

  app.contextMenu.addItem({
    command: 'reclaim:start-batch',
    args: { selected: true },
    selector: '.jp-DirListing-item[data-isdir="false"]',
    rank: 3
  });

  /** Show what a plan will do, and ask whether that is wanted. */
  async function agreed(plan: IPlan, title: string, okLabel: string): Promise<boolean> {
    const nothing = plan.running
      ? trans.__('A pool is at work on this batch. The panel shows how far it is.')
      : plan.done === plan.total
        ? trans.__('Every attempt of this plan has its result. There is nothing left to do.')
        : null;
    const body = nothing ?? ReactWidget.create(<PlanView plan={plan} trans={trans} />);
    const answer = await showDialog({
      title: nothing === null ? title : trans.__('Batch %1', plan.name),
      body,
      buttons:
        nothing === null
          ? [Dialog.cancelButton(), Dialog.okButton({ label: okLabel })]
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

  /** The batch that is named, the only one that there is, or the one that is chosen. */
  async function meant(args: any, among: IBatch[], title: string): Promise<IBatch | null> {
    let folder: string | null = args.folder ?? among[0]?.folder ?? null;
    if (args.folder === undefined && among.length > 1) {
      const items = among.map(batch => batch.folder);
      const answer = await InputDialog.getItem({ title, label: trans.__('Batch'), items });
      folder = answer.button.accept ? answer.value : null;
    }
    return among.find(batch => batch.folder === folder) ?? null;
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
