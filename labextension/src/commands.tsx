import { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, MainAreaWidget, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import { addIcon, ReactWidget, refreshIcon, runIcon, stopIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { CardView } from './components/CardView';
import { cellsOf, Page } from './components/Page';
import { startAttempt } from './components/StartForm';
import { reclaimIcon } from './icons';
import { Message } from './model/feed';
import { addCompare } from './compare';
import { isWorking } from './model/person';
import { RunsModel } from './model/runs';
import { addReexecute, IRerunning } from './reexecute';
import { viewOf } from './notebook/attempt';
import { IDetail, IEvent, IRecord } from './tokens';

export interface ICommandOptions {
  app: JupyterFrontEnd;
  documents: IDocumentManager;
  model: RunsModel;
  trans: TranslationBundle;
  restorer?: ILayoutRestorer | null;
}

/** Everything a person can do, as commands. */
export function addCommands({ app, documents, model, trans, restorer = null }: ICommandOptions): void {
  const { commands, shell } = app;

  /** The attempt that is meant: named, under the pointer, or looked at. */
  const attemptOf = (args: any): string | null => {
    const hit = app.contextMenuHitTest(node => !!node.dataset.path && node.className.includes('jp-reclaim'));
    return (args.path as string) ?? hit?.dataset.path ?? model.current;
  };

  commands.addCommand('reclaim:open-attempt', {
    label: trans.__('Open Attempt'),
    icon: reclaimIcon,
    describedBy: { args: { type: 'object', properties: { path: { type: 'string' } } } },
    execute: async args => {
      const path = attemptOf(args);
      if (path !== null && !args.record && isWorking(model.attempts.get(path))) {
        return commands.execute('reclaim:work', { path });
      }
      if (path !== null && model.attempts.get(path)?.imported) {
        return commands.execute('reclaim:open-page', { path }); // it has no notebook
      }
      const contents = path === null ? null : model.contentsOf(path);
      if (path === null || contents === null) {
        void showErrorMessage(
          trans.__('The notebook cannot be opened'),
          trans.__(
            'Attempts are in %1, outside of what the file browser shows. Start the server in a folder above it.',
            model.status?.runs ?? '?'
          )
        );
        return undefined;
      }
      model.current = path;
      return documents.openOrReveal(contents);
    }
  });

  commands.addCommand('reclaim:new-attempt', {
    label: trans.__('New Attempt…'),
    caption: trans.__('Let an agent try to reproduce a paper’s result'),
    icon: args => (args.isLauncher ? reclaimIcon : addIcon),
    describedBy: { args: { type: 'object', properties: { paper: { type: 'string' } } } },
    execute: async args => {
      if (!model.loaded || model.problem !== null) {
        await model.refresh();
      }
      const hit = app.contextMenuHitTest(node => !!node.dataset.paper);
      const paper = (args.paper as string) ?? hit?.dataset.paper ?? null;
      const path = await startAttempt(model, paper, trans, args.agent as string | undefined);
      if (path !== null) {
        await model.refresh();
        // The notebook is there as soon as the kernel has started.
        for (let tries = 0; tries < 240; tries++) {
          const found = await model.api.attempt(path).catch(() => null);
          const working = found !== null && isWorking(found.attempt);
          if (working ? (await model.api.desk(path)).open : found?.stamp.includes('attempt.ipynb')) {
            return commands.execute('reclaim:open-attempt', { path });
          }
          await new Promise(done => window.setTimeout(done, 500));
        }
      }
      return undefined;
    }
  });

  commands.addCommand('reclaim:refresh', {
    label: trans.__('Read Suites and Attempts Again'),
    icon: refreshIcon,
    describedBy: { args: null },
    execute: () => model.refresh()
  });

  const act = (action: 'stop' | 'resume' | 'grade', label: string, icon: any, state: string) =>
    commands.addCommand(`reclaim:${action}`, {
      label,
      icon,
      describedBy: { args: { type: 'object', properties: { path: { type: 'string' } } } },
      isEnabled: args => {
        const path = attemptOf(args);
        const attempt = path === null ? undefined : model.attempts.get(path);
        return attempt?.state === state && !attempt.imported; // what was made elsewhere is not ours to act on
      },
      execute: async args => {
        const path = attemptOf(args);
        const attempt = path === null ? undefined : model.attempts.get(path);
        if (path === null || !attempt) {
          return;
        }
        if (action === 'stop') {
          const sure = await showDialog({
            title: trans.__('Stop this attempt?'),
            body: trans.__(
              '%1 at %2 ends as cancelled. What it has done stays in its record; it counts in no rate.',
              attempt.agent,
              attempt.paper
            ),
            buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: trans.__('Stop') })]
          });
          if (!sure.button.accept) {
            return;
          }
        }
        try {
          await model.api.act(path, action);
        } catch (problem) {
          void showErrorMessage(trans.__('That was not possible'), (problem as Error).message);
        }
      }
    });
  act('stop', trans.__('Stop Attempt'), stopIcon, 'running');
  act('resume', trans.__('Resume Attempt'), runIcon, 'dead_runner');
  act('grade', trans.__('Grade Attempt'), undefined, 'ended');
  addReexecute({ app, model, trans, attemptOf });
  addCompare({ app, model, trans, attemptOf, restorer, jumpIn: path => jumpIn(path) });

  commands.addCommand('reclaim:open-card', {
    label: trans.__('Open Paper Card'),
    describedBy: { args: { type: 'object', properties: { paper: { type: 'string' } } } },
    execute: async args => {
      const hit = app.contextMenuHitTest(node => !!node.dataset.paper);
      const paper = (args.paper as string) ?? hit?.dataset.paper;
      if (!paper) {
        return;
      }
      const id = `reclaim-card-${paper}`;
      const shown = (): boolean => [...shell.widgets('main')].some(widget => widget.id === id);
      if (shown()) {
        shell.activateById(id);
        return;
      }
      try {
        const card = await model.api.card(paper);
        if (shown()) {
          return; // asked for again while it was being read, as a double click does
        }
        const content = ReactWidget.create(
          <CardView card={card} trans={trans} onStart={() => void commands.execute('reclaim:new-attempt', { paper })} />
        );
        content.addClass('jp-reclaim-Document');
        const widget = new MainAreaWidget({ content });
        widget.id = id;
        widget.title.label = card.id;
        widget.title.caption = card.title;
        widget.title.icon = reclaimIcon;
        widget.title.closable = true;
        shell.add(widget, 'main');
      } catch (problem) {
        void showErrorMessage(trans.__('The card cannot be shown'), (problem as Error).message);
      }
    }
  });

  /** Goes to a place in the notebook of an attempt. */
  const jumpIn = (path: string) => async (cell: string | null, output: number | null, text: string, line: string) => {
    const panel = await commands.execute('reclaim:open-attempt', { path });
    if (panel instanceof NotebookPanel) {
      await panel.context.ready;
      await viewOf(panel)?.jump({ cell, output, text, line });
    }
  };

  commands.addCommand('reclaim:open-page', {
    label: trans.__('Open Timeline and Verdicts'),
    describedBy: { args: { type: 'object', properties: { path: { type: 'string' } } } },
    execute: args => {
      const path = attemptOf(args);
      if (path === null) {
        return;
      }
      const id = `reclaim-page-${path}`;
      if ([...shell.widgets('main')].some(widget => widget.id === id)) {
        shell.activateById(id);
        return;
      }
      const content = new PageWidget(model, path, trans, jumpIn(path), name =>
        commands.execute(`reclaim:${name}`, { path })
      );
      const widget = new MainAreaWidget({ content });
      widget.id = id;
      const known = model.attempts.get(path);
      const paper = (known && model.catalog.paper(`${known.suite}/${known.paper}`)?.id) ?? path.split('/')[2];
      widget.title.label = `${paper} · ${path.split('/')[3]}`;
      widget.title.caption = path;
      widget.title.icon = reclaimIcon;
      widget.title.closable = true;
      shell.add(widget, 'main', { mode: 'tab-after' });
    }
  });

  const paper = '.jp-reclaim-paper-item';
  const attempt = '.jp-reclaim-attempt-item';
  app.contextMenu.addItem({ command: 'reclaim:new-attempt', selector: paper, rank: 0 });
  app.contextMenu.addItem({ command: 'reclaim:open-card', selector: paper, rank: 1 });
  ['open-attempt', 'open-page', 'stop', 'resume', 'grade', 'reexecute', 'pick', 'compare'].forEach((name, rank) =>
    app.contextMenu.addItem({ command: `reclaim:${name}`, selector: attempt, rank })
  );
}

/** The page of one attempt, read again whenever its files change. */
class PageWidget extends ReactWidget {
  constructor(
    private _model: RunsModel,
    path: string,
    private _trans: TranslationBundle,
    private _jump: (cell: string | null, output: number | null, text: string, line: string) => void,
    private _do: (command: 'reexecute' | 'stop-reexecution' | 'compare') => Promise<any>
  ) {
    super();
    this.addClass('jp-reclaim-Document');
    const model = this._model;
    const follow = model.feed.follow(path, 0);
    const read = async () => {
      try {
        this._detail = model.named(await model.api.attempt(path));
        this.update();
        // A re-execution leaves no mark in the record while it runs.
        if (this._detail.reexecution.running && !this.isDisposed) {
          window.clearTimeout(this._later);
          this._later = window.setTimeout(read, 2000);
        }
        this._record = await model.api.record(path);
      } catch (problem) {
        this._problem = (problem as Error).message;
      }
      this.update();
    };
    const onMessage = (_: unknown, message: Message) => {
      if (message.type === 'record' && message.path === path) {
        const seen = this._events.length ? this._events[this._events.length - 1].seq : -1;
        this._events.push(...message.events.filter(event => event.seq > seen));
        this.update();
      }
    };
    const onAttempt = (_: unknown, changed: string) => {
      if (changed === path) {
        void read();
      }
    };
    model.feed.message.connect(onMessage);
    model.attemptChanged.connect(onAttempt);
    model.acted.connect(onAttempt);
    this.disposed.connect(() => {
      window.clearTimeout(this._later);
      follow.dispose();
      model.feed.message.disconnect(onMessage);
      model.attemptChanged.disconnect(onAttempt);
      model.acted.disconnect(onAttempt);
    });
    void read();
  }

  render(): React.ReactElement {
    if (this._detail === null) {
      return <div className="jp-reclaim-Explorer-empty">{this._problem ?? this._trans.__('Reading the attempt…')}</div>;
    }
    return (
      <Page
        detail={this._detail}
        record={this._record}
        cells={cellsOf(this._events)}
        jump={this._jump}
        rerunning={this._rerunning}
        compare={() => void this._do('compare')}
        api={this._model.api}
        trans={this._trans}
      />
    );
  }

  private _rerunning: IRerunning = {
    start: () => void this._do('reexecute'),
    stop: async () => (await this._do('stop-reexecution')) === true
  };
  private _detail: IDetail | null = null;
  private _record: IRecord | null = null;
  private _problem: string | null = null;
  private _later = 0;
  private _events: IEvent[] = [];
}
