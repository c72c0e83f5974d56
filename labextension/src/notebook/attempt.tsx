import { showErrorMessage } from '@jupyterlab/apputils';
import { DocumentRegistry } from '@jupyterlab/docregistry';
import { INotebookModel, NotebookPanel } from '@jupyterlab/notebook';
import { Contents } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { DisposableSet, IDisposable } from '@lumino/disposable';
import { Throttler } from '@lumino/polling';
import * as React from 'react';
import { Banner, IBannerActions, IBannerState } from '../components/Banner';
import { Feed, Message } from '../model/feed';
import { RunsModel } from '../model/runs';
import { clearMarks, IPlace, jump, markCited } from './evidence';
import { Follower } from './follower';
import { factsOf, Gutter } from './gutter';
import { Header } from './header';

export interface IOptions {
  model: RunsModel;
  contents: Contents.IManager;
  commands: CommandRegistry;
  trans: TranslationBundle;
  settings: () => { follow: boolean; gutter: boolean };
}

/** Opens the notebooks of attempts as what they are: read, followed, never run again by looking at them. */
export class AttemptExtension implements DocumentRegistry.IWidgetExtension<NotebookPanel, INotebookModel> {
  constructor(private _options: IOptions) {}

  createNew(panel: NotebookPanel, context: DocumentRegistry.IContext<INotebookModel>): IDisposable {
    const attempt = this._options.model.attemptOf(context.path);
    // What a person opens from the file browser may come before the list of attempts is read.
    if (attempt === null && (this._options.model.loaded || !context.path.endsWith('/attempt.ipynb'))) {
      return new DisposableSet();
    }
    // Looking at a record must not start a kernel, let alone a container.
    context.sessionContext.kernelPreference = {
      ...context.sessionContext.kernelPreference,
      shouldStart: false,
      autoStartDefault: false
    };
    const view = new AttemptView(panel, this._options);
    panel.disposed.connect(() => view.dispose());
    return view;
  }
}

/** The banner and gutter of one panel, kept up to date. */
export class AttemptView implements IDisposable {
  constructor(
    readonly panel: NotebookPanel,
    private _options: IOptions
  ) {
    views.set(panel, this);
    this._banner = new Header(panel);
    this._gutter = new Gutter(panel, _options.trans);
    this._follower = new Follower(panel, _options.contents, () => this._afterReload());
    this._draw = new Throttler(() => this._redraw(), 120);
    this._mark = new Throttler(() => this._markCited(), 250);
    this._clock = window.setInterval(() => this._gutter.tick(), 1000);
    _options.model.changed.connect(this._onModel, this);
    _options.model.attemptChanged.connect(this._onAttempt, this);
    _options.model.feed.message.connect(this._onMessage, this);
    void this._begin();
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  get follower(): Follower {
    return this._follower;
  }

  /** Go to a place of the evidence. */
  async jump(place: IPlace): Promise<void> {
    const found = await jump(this.panel, place);
    if (found === null) {
      void showErrorMessage(
        this._options.trans.__('The evidence is not there'),
        this._options.trans.__('This notebook has no cell %1. The record check says what is wrong.', place.cell ?? '?')
      );
    }
  }

  /** Settings have changed. */
  update(): void {
    void this._draw.invoke();
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    views.delete(this.panel);
    window.clearInterval(this._clock);
    this._follow?.dispose();
    this._follower.dispose();
    this._draw.dispose();
    this._mark.dispose();
    this._options.model.changed.disconnect(this._onModel, this);
    this._options.model.attemptChanged.disconnect(this._onAttempt, this);
    this._options.model.feed.message.disconnect(this._onMessage, this);
    if (this._options.model.current === this._path) {
      this._options.model.current = null;
      clearMarks();
    }
  }

  private async _begin(): Promise<void> {
    const { context, content } = this.panel;
    await context.ready;
    if (this._disposed || this.panel.isDisposed) {
      return;
    }
    this._path = this._options.model.attemptOf(context.path);
    if (this._path === null) {
      return; // some other notebook of that name
    }
    this.panel.addClass('jp-mod-reclaim-attempt');
    const [, , paper, agent, repeat] = this._path.split('/');
    // The label stays: the lab takes another one as the wish to rename the file.
    this.panel.title.caption = `${paper}, ${agent}, ${repeat}\n${context.path}`;
    this._banner.attach();
    context.model.stateChanged.connect((_, change) => {
      if (change.name === 'dirty') {
        void this._draw.invoke();
      }
    });
    context.model.cells.changed.connect(() => void this._draw.invoke());
    const outer = content.outerNode ?? content.node;
    outer.addEventListener('scroll', () => void this._mark.invoke(), { passive: true });
    this._protect();
    this._followFrom();
    await this._read();
    // Who opens what is being written wants to see it being written.
    if (this._state.detail?.attempt.state === 'running' && !this.panel.isDisposed) {
      this._follower.toEnd();
    }
  }

  /** A record is read: its cells take no typing. That is a state of this view, not of the document. */
  private _protect(): void {
    for (const cell of this.panel.content.widgets) {
      cell.syncEditable = false; // else it would be written into the cell's metadata
      cell.readOnly = true;
    }
  }

  private _followFrom(): void {
    this._follow?.dispose();
    const seen = (this.panel.context.model.getMetadata('reclaim') as any)?.record?.events;
    this._follow = this._options.model.feed.follow(
      this._path as string,
      typeof seen === 'number' && seen >= 0 ? seen : 0
    );
  }

  private async _read(): Promise<void> {
    const path = this._path as string;
    const api = this._options.model.api;
    try {
      const detail = await api.attempt(path);
      this._state = { ...this._state, detail, problem: null };
    } catch (problem) {
      this._state = { ...this._state, problem: (problem as Error).message };
    }
    void this._draw.invoke();
    if (this._state.detail?.attempt.state === 'running') {
      return; // a record that is being written is checked when it has ended
    }
    try {
      const record = await api.record(path);
      this._gutter.broken = new Set(record.cells);
      this._state = { ...this._state, record };
    } catch (problem) {
      console.debug('reclaim: the record could not be checked', problem);
    }
    void this._draw.invoke();
  }

  private _onModel(): void {
    if (this._path === null) {
      return;
    }
    const live = this._options.model.lives.get(this._path) ?? null;
    if (live !== this._state.live) {
      this._state = { ...this._state, live };
      void this._draw.invoke();
    }
  }

  private _onAttempt(_: RunsModel, path: string): void {
    if (path === this._path) {
      this._follower.soon();
      const attempt = this._options.model.attempts.get(path);
      const detail = this._state.detail;
      if (detail && attempt && attempt.state === 'running' && detail.attempt.state === 'running') {
        this._state = { ...this._state, detail: { ...detail, attempt } };
        void this._draw.invoke();
      } else {
        void this._read();
      }
    }
  }

  private _onMessage(_: Feed, message: Message): void {
    if (message.type === 'record' && message.path === this._path && this._options.settings().follow) {
      this._follower.soon();
    }
  }

  private _afterReload(): void {
    this._protect();
    void this._draw.invoke();
    const facts = this.panel.context.model.getMetadata('reclaim') as any;
    const running = this._options.model.attempts.get(this._path ?? '')?.state === 'running';
    if (running || facts?.state === 'running') {
      // The runner saves a little after it records: look again, so that the last save is not missed.
      window.setTimeout(() => this._follower.soon(), 700);
    }
  }

  private _redraw(): void {
    if (this._disposed || this.panel.isDisposed || this._path === null) {
      return;
    }
    const changed = this.panel.context.model.dirty;
    this._gutter.live = this._state.detail?.attempt.state === 'running' ? this._state.live : null;
    this._gutter.update(this._options.settings().gutter);
    const agent = this.panel.content.widgets.filter(cell => factsOf(cell)?.author !== 'harness');
    const code = agent.filter(cell => cell.model.type === 'code');
    const cells = {
      turns: agent.reduce((most, cell) => Math.max(most, factsOf(cell)?.turn ?? 0), 0),
      code: code.length,
      errors: code.filter(cell => factsOf(cell)?.status === 'error').length
    };
    this._state = { ...this._state, changed, cells };
    this._render();
    void this._mark.invoke();
  }

  private _render(): void {
    const state = this._state;
    const actions: IBannerActions = {
      jump: place => void this.jump(place),
      openCard: () => void this._options.commands.execute('reclaim:open-card', { paper: cardName(state) }),
      compare: () => void this._options.commands.execute('reclaim:compare', { path: this._path }),
      openPage: () => void this._options.commands.execute('reclaim:open-page', { path: this._path }),
      act: action => void this._options.commands.execute(`reclaim:${action}`, { path: this._path }),
      revert: () => void this.panel.context.revert(),
      toggle: () => {
        this._state = { ...this._state, compact: !this._state.compact };
        this._render();
      }
    };
    this._banner.draw(<Banner state={state} actions={actions} trans={this._options.trans} />);
  }

  private _markCited(): void {
    if (this._disposed || !this.panel.isVisible) {
      return;
    }
    const verdicts = this._state.detail?.verdicts.filter(one => one.verdict !== null) ?? [];
    const verdict = verdicts[verdicts.length - 1]?.verdict;
    markCited(this.panel, verdict?.citations ?? []);
  }

  private _banner: Header;
  private _clock: number;
  private _gutter: Gutter;
  private _follower: Follower;
  private _follow: IDisposable | null = null;
  private _draw: Throttler;
  private _mark: Throttler;
  private _path: string | null = null;
  private _disposed = false;
  private _state: IBannerState = {
    detail: null,
    record: null,
    live: null,
    problem: null,
    changed: false,
    cells: { turns: 0, code: 0, errors: 0 },
    compact: false
  };
}

function cardName(state: IBannerState): string {
  const attempt = state.detail?.attempt;
  return attempt ? `${attempt.suite}/${attempt.paper}` : '';
}

const views = new Map<NotebookPanel, AttemptView>();

/** The view of a panel, if it shows an attempt. */
export function viewOf(panel: NotebookPanel | null): AttemptView | undefined {
  return panel === null ? undefined : views.get(panel);
}

/** All views there are. */
export function allViews(): IterableIterator<AttemptView> {
  return views.values();
}
