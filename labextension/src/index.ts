import { ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Api } from './api';
import { addCommands } from './commands';
import { Feed } from './model/feed';
import { RunsModel } from './model/runs';
import { allViews, AttemptExtension } from './notebook/attempt';
import { ReclaimPanel } from './panel';
import { NAMESPACE, PLUGIN } from './tokens';

const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN,
  description: 'Suites, attempts, verdicts and their evidence.',
  autoStart: true,
  requires: [IDocumentManager, INotebookTracker],
  optional: [ILayoutRestorer, ICommandPalette, ILauncher, ISettingRegistry, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    documents: IDocumentManager,
    tracker: INotebookTracker,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    registry: ISettingRegistry | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load(NAMESPACE);
    const api = new Api(app.serviceManager.serverSettings);
    const model = new RunsModel(api, new Feed(api));
    const settings = { follow: true, gutter: true };

    addCommands({ app, documents, model, trans, restorer });
    const panel = new ReclaimPanel(
      model,
      app.commands,
      {
        open: attempt => void app.commands.execute('reclaim:open-attempt', { path: attempt.path }),
        openCard: paper => void app.commands.execute('reclaim:open-card', { paper: paper.name }),
        start: paper => void app.commands.execute('reclaim:new-attempt', paper === null ? {} : { paper }),
        compare: (left, right) => void app.commands.execute('reclaim:compare', { left, right }),
        stop: attempt => void app.commands.execute('reclaim:stop', { path: attempt.path })
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
    tracker.currentChanged.connect((_, current) => {
      model.current = current === null ? null : model.attemptOf(current.context.path);
    });

    const category = trans.__('RECLAIM');
    for (const command of ['new-attempt', 'refresh', 'stop', 'resume', 'grade', 'reexecute', 'open-page', 'compare']) {
      palette?.addItem({ command: `reclaim:${command}`, category });
    }
    launcher?.add({
      command: 'reclaim:new-attempt',
      category,
      args: { isLauncher: true },
      rank: 0
    });
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
    void model.refresh();
  }
};

export default plugin;
