import { DocumentRegistry } from '@jupyterlab/docregistry';
import { INotebookModel, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { DisposableSet, IDisposable } from '@lumino/disposable';
import * as React from 'react';
import { IWorkActions, IWorkState, WorkBanner } from '../components/WorkBanner';
import { RunsModel } from '../model/runs';
import { Header } from './header';

const WORKING = /\/work\.ipynb$/;

/** The attempt that a notebook shows or works on, null when it is no attempt's. */
export function attemptBehind(model: RunsModel, contentsPath: string): string | null {
  return model.attemptOf(contentsPath.replace(WORKING, '/attempt.ipynb'));
}

export interface IWorkOptions {
  model: RunsModel;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** Puts the task, the live budget and the way to the end above a person's working notebook. */
export class WorkExtension implements DocumentRegistry.IWidgetExtension<NotebookPanel, INotebookModel> {
  constructor(private _options: IWorkOptions) {}

  createNew(panel: NotebookPanel, context: DocumentRegistry.IContext<INotebookModel>): IDisposable {
    return WORKING.test(context.path) ? new WorkView(panel, this._options) : new DisposableSet();
  }
}

/** The banner of one working notebook. */
class WorkView implements IDisposable {
  constructor(
    private _panel: NotebookPanel,
    private _options: IWorkOptions
  ) {
    this._banner = new Header(_panel);
    _panel.disposed.connect(() => this.dispose());
    void this._begin();
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    const { model } = this._options;
    model.changed.disconnect(this._onModel, this);
    model.attemptChanged.disconnect(this._onAttempt, this);
    this._banner.dispose();
  }

  private async _begin(): Promise<void> {
    const { context } = this._panel;
    const { model } = this._options;
    await context.ready;
    if (!model.loaded) {
      await model.refresh(); // a notebook that the lab restores may come before the list of attempts
    }
    const facts = context.model.getMetadata('reclaim') as any;
    const path = attemptBehind(model, context.path);
    if (this._disposed || path === null || facts?.working !== true) {
      return; // some other notebook of that name
    }
    this._path = path;
    const [, , paper] = path.split('/');
    this._panel.title.caption = `${this._options.trans.__('Your attempt at %1', paper)}\n${context.path}`;
    this._banner.attach();
    model.changed.connect(this._onModel, this);
    model.attemptChanged.connect(this._onAttempt, this);
    this._onModel();
    await this._read();
  }

  private async _read(): Promise<void> {
    try {
      const detail = await this._options.model.api.attempt(this._path);
      this._state = { ...this._state, detail, problem: null };
    } catch (problem) {
      this._state = { ...this._state, problem: (problem as Error).message };
    }
    this._draw();
  }

  private _onModel(): void {
    const live = this._options.model.lives.get(this._path);
    if (live !== undefined && live !== this._state.live) {
      this._state = { ...this._state, live };
      this._draw();
    }
  }

  private _onAttempt(_: RunsModel, path: string): void {
    if (path === this._path) {
      void this._read();
    }
  }

  private _draw(): void {
    if (this._disposed || this._panel.isDisposed) {
      return;
    }
    const run = (command: string) => void this._options.commands.execute(command, { path: this._path });
    const actions: IWorkActions = {
      submit: () => run('reclaim:submit'),
      close: () => run('reclaim:close'),
      resume: () => run('reclaim:resume'),
      openRecord: () => void this._options.commands.execute('reclaim:open-attempt', { path: this._path, record: true })
    };
    this._banner.draw(<WorkBanner state={this._state} actions={actions} trans={this._options.trans} />);
  }

  private _banner: Header;
  private _path = '';
  private _disposed = false;
  private _state: IWorkState = { detail: null, live: null, problem: null };
}
