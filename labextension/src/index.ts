import { ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Api } from './api';
import { addBatchCommands } from './batches';
import { addCommands } from './commands';
import { addHumanCommands } from './human';
import { BatchesModel } from './model/batches';
import { Feed } from './model/feed';
import { RunsModel } from './model/runs';
import { allViews, AttemptExtension } from './notebook/attempt';
import { attemptBehind, WorkExtension } from './notebook/work';
import { ReclaimPanel } from './panel';
import { NAMESPACE, PLUGIN } from './tokens';

const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN,
  description: 'Suites, attempts, verdicts and their evidence.',
  autoStart: true,
  requires: [IDocumentManager, INotebookTracker],
  optional: [ILayoutRestorer, ICommandPalette, ILauncher, ISettingRegistry, ITranslator, IDefaultFileBrowser],
  activate: (
    app: JupyterFrontEnd,
    documents: IDocumentManager,
    tracker: INotebookTracker,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    registry: ISettingRegistry | null,
    translator: ITranslator | null,
    browser: IDefaultFileBrowser | null
  ): void => {
    const trans = (translator ?? nullTranslator).load(NAMESPACE);
    const api = new Api(app.serviceManager.serverSettings, trans);
    const model = new RunsModel(api, new Feed(api));
    const settings = { follow: true, gutter: true };

    addCommands({ app, documents, model, trans, restorer });
    const batches = new BatchesModel(api);
    addBatchCommands({ app, documents, model, trans }, batches, browser);
    addHumanCommands({ app, documents, model, trans });
    const panel = new ReclaimPanel(
      model,
      batches,
      app.commands,
      {
        open: attempt => void app.commands.execute('reclaim:open-attempt', { path: attempt.path }),
        openCard: paper => void app.commands.execute('reclaim:open-card', { paper: paper.name }),
        start: paper => void app.commands.execute('reclaim:new-attempt', paper === null ? {} : { paper }),
        compare: (left, right) => void app.commands.execute('reclaim:compare', { left, right }),
        stop: attempt => void app.commands.execute('reclaim:stop', { path: attempt.path }),
        stopBatch: folder => void app.commands.execute('reclaim:stop-batch', { folder }),
        resumeBatch: folder => void app.commands.execute('reclaim:resume-batch', { folder })
      },
      trans
    );
    app.shell.add(panel, 'left', { rank: 250 });
    restorer?.add(panel, NAMESPACE);

    app.docRegistry.addWidgetExtension(
      'Notebook',
      new AttemptExtension({
        model,
        contents: app.serviceManager.contents,
        commands: app.commands,
        trans,
        settings: () => settings
      })
    );
    app.docRegistry.addWidgetExtension('Notebook', new WorkExtension({ model, commands: app.commands, trans }));
    tracker.currentChanged.connect((_, current) => {
      model.current = current === null ? null : attemptBehind(model, current.context.path);
    });

    const category = trans.__('RECLAIM');
    for (const command of [
      'new-attempt',
      'human-attempt',
      'start-batch',
      'stop-batch',
      'resume-batch',
      'refresh',
      'stop',
      'resume',
      'grade',
      'reexecute',
      'stop-reexecution',
      'compare',
      'open-page',
      'work',
      'submit',
      'close'
    ]) {
      palette?.addItem({ command: `reclaim:${command}`, category });
    }
    ['new-attempt', 'human-attempt'].forEach((command, rank) =>
      launcher?.add({ command: `reclaim:${command}`, category, args: { isLauncher: true }, rank })
    );
    void registry
      ?.load(PLUGIN)
      .then(loaded => {
        const read = () => {
          settings.follow = loaded.get('follow').composite as boolean;
          settings.gutter = loaded.get('gutter').composite as boolean;
          for (const view of allViews()) {
            view.update();
          }
        };
        loaded.changed.connect(read);
        read();
      })
      .catch((problem: unknown) => console.error('reclaim: the settings cannot be read', problem));
    void model.refresh().then(() => batches.start());
  }
};

export default plugin;
