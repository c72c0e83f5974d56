import { NotebookPanel } from '@jupyterlab/notebook';
import { Contents } from '@jupyterlab/services';
import { IDisposable } from '@lumino/disposable';
import { sameCells } from './growth';

const SOONEST = 400;
/** A reload waits at least this many times the duration of the one before, so that large notebooks stay usable. */
const SHARE = 2;
const AT_END = 60; // pixels from the end that still count as being there

/**
 * Keeps a notebook that is being written up to date with the file.
 *
 * It never reloads what somebody has changed, what a kernel is at work on, or what is not newer than what is shown.
 */
export class Follower implements IDisposable {
  constructor(
    private _panel: NotebookPanel,
    private _contents: Contents.IManager,
    private _reloaded: () => void
  ) {
    const outer = _panel.content.outerNode ?? _panel.content.node;
    for (const type of ['wheel', 'pointerdown', 'keydown']) {
      outer.addEventListener(type, this._moved, { passive: true });
    }
  }

  /** The view stays at the end of the record as it grows; whoever scrolls away from there stays where they are. */
  atEnd = false;

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** How often the view was brought up to date, for tests and for the curious. */
  count = 0;

  /** Something was written; bring the view up to date as soon as that is cheap. */
  soon(): void {
    this._wanted = true;
    if (this._timer === 0 && !this._busy && !this._disposed) {
      const wait = Math.max(0, this._next - performance.now());
      this._timer = window.setTimeout(() => void this._reload(), wait);
    }
  }

  dispose(): void {
    const outer = this._panel.content.outerNode ?? this._panel.content.node;
    ['wheel', 'pointerdown', 'keydown'].forEach(type => outer.removeEventListener(type, this._moved));
    this._disposed = true;
    window.clearTimeout(this._timer);
  }

  private async _reload(): Promise<void> {
    this._timer = 0;
    this._wanted = false;
    this._busy = true;
    const began = performance.now();
    try {
      const now = await this._due();
      if (now !== null) {
        await this._update();
        this._seen = now;
        this.count += 1;
        this._reloaded();
      }
    } catch (problem) {
      console.debug('reclaim: the notebook could not be read again', problem);
      this._wanted = true; // the file may just be being replaced
    }
    this._busy = false;
    this._next = performance.now() + Math.max(SOONEST, SHARE * (performance.now() - began));
    if (this._wanted) {
      this.soon();
    }
  }

  /** What the file is now, when the view is to be brought up to date; null when it is not. */
  private async _due(): Promise<string | null> {
    const { context, sessionContext } = this._panel;
    if (this._disposed || this._panel.isDisposed || !context.isReady || context.model.dirty) {
      return null;
    }
    if (sessionContext.session?.kernel?.status === 'busy') {
      return null;
    }
    const shown = this._seen ?? stampOf(context.contentsModel);
    const now = stampOf(await this._contents.get(context.path, { content: false }));
    return now !== shown && !this._disposed && !context.model.dirty ? now : null;
  }

  /** A record grows at its end, so what is shown already stays, with its scroll position and its selection. */
  private async _update(): Promise<void> {
    const { context, content: notebook } = this._panel;
    const file = await this._contents.get(context.path, { content: true, type: 'notebook' });
    if (this._disposed || this._panel.isDisposed || context.model.dirty) {
      return;
    }
    const shared = context.model.sharedModel;
    const cells = (file.content.cells as any[]).map(cell => ({
      ...cell,
      metadata: { ...cell.metadata, trusted: undefined }
    }));
    const same = sameCells(
      shared.cells.map(cell => cell.toJSON()),
      cells
    );
    const outer = notebook.outerNode ?? notebook.node;
    const active = notebook.activeCell?.model.id ?? null;
    const top = outer.scrollTop;
    shared.transact(() => {
      if (same < shared.cells.length) {
        shared.deleteCellRange(same, shared.cells.length);
      }
      shared.insertCells(same, cells.slice(same));
      shared.setMetadata(file.content.metadata);
    }, false);
    context.model.dirty = false;
    const index = notebook.widgets.findIndex(cell => cell.model.id === active);
    if (this.atEnd) {
      this.toEnd();
    } else {
      if (index >= 0 && index !== notebook.activeCellIndex) {
        notebook.activeCellIndex = index;
      }
      if (outer.scrollTop !== top) {
        outer.scrollTop = top;
      }
    }
  }

  /** Show the end, and stay there. */
  toEnd(): void {
    const notebook = this._panel.content;
    this.atEnd = true;
    if (notebook.widgets.length > 0) {
      notebook.activeCellIndex = notebook.widgets.length - 1;
    }
    // New cells get their height when the lab comes to drawing them, which it does when it has nothing better to do.
    for (const wait of [0, 150, 500, 1200]) {
      window.setTimeout(() => {
        if (this.atEnd && !this._disposed && !this._panel.isDisposed) {
          // Not the end of the list: the lab leaves room below the last cell.
          notebook.widgets[notebook.widgets.length - 1]?.node.scrollIntoView({ block: 'end' });
        }
      }, wait);
    }
  }

  private _moved = (): void => {
    window.setTimeout(() => {
      if (this._disposed || this._panel.isDisposed) {
        return;
      }
      const { content } = this._panel;
      const outer = content.outerNode ?? content.node;
      const last = content.widgets[content.widgets.length - 1]?.node;
      this.atEnd = !!last && last.getBoundingClientRect().bottom - outer.getBoundingClientRect().bottom < AT_END;
    }, 100);
  };

  private _seen: string | null = null;
  private _timer = 0;
  private _next = 0;
  private _wanted = false;
  private _busy = false;
  private _disposed = false;
}

function stampOf(model: Omit<Contents.IModel, 'content'> | null): string {
  return model === null ? '' : `${model.last_modified} ${model.size}`;
}
