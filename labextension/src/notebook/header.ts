import { NotebookPanel } from '@jupyterlab/notebook';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

/** What stands above a notebook; it takes the height that what it shows asks for. */
export class Header extends ReactWidget {
  constructor(private _panel: NotebookPanel) {
    super();
    this.addClass('jp-reclaim-BannerWidget');
    this._size = new ResizeObserver(() => this._fit());
  }

  /** Put it above the notebook. */
  attach(): void {
    this._panel.contentHeader.addWidget(this);
  }

  draw(element: React.ReactElement): void {
    this._element = element;
    this.update();
    void this.renderPromise?.then(() => {
      const inner = this.node.firstElementChild;
      if (inner !== null && inner !== this._shown) {
        this._shown = inner;
        this._size.disconnect();
        this._size.observe(inner);
      }
    });
  }

  render(): React.ReactElement | null {
    return this._element;
  }

  dispose(): void {
    this._size.disconnect();
    super.dispose();
  }

  /** The lab gives a header the height that its style asks for, so the style follows what React has drawn. */
  private _fit(): void {
    const height = `${Math.ceil(this._shown?.getBoundingClientRect().height ?? 0)}px`;
    const { style } = this.node;
    if (!this.isDisposed && !this._panel.isDisposed && style.minHeight !== height) {
      style.minHeight = style.maxHeight = height;
      this._panel.contentHeader.fit();
    }
  }

  private _element: React.ReactElement | null = null;
  private _shown: Element | null = null;
  private _size: ResizeObserver;
}
