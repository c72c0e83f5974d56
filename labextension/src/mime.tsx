import { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { nullTranslator, TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { PromiseDelegate } from '@lumino/coreutils';
import * as React from 'react';
import { CardView } from './components/CardView';
import { VerdictView } from './components/Page';
import { NAMESPACE } from './tokens';

const CARD = 'application/vnd.reclaim.card+json';
const VERDICT = 'application/vnd.reclaim.verdict+json';

/**
 * Draws a card or a verdict that stands in a notebook. Everything is drawn as text, so it is safe without trust; who
 * printed it is said above, for a cell can print any verdict it likes.
 */
class ReclaimRenderer extends ReactWidget implements IRenderMime.IRenderer {
  constructor(
    private _mime: string,
    private _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-reclaim-Mime');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this._data = model.data[this._mime];
    this.update();
    await this.renderPromise;
    this._ready.resolve();
  }

  render(): React.ReactElement {
    const data = this._data;
    if (data === null || typeof data !== 'object') {
      return <pre>{String(data)}</pre>;
    }
    const card = this._mime === CARD;
    const trans = this._trans;
    return (
      <div>
        <div className="jp-reclaim-dim jp-reclaim-Mime-origin">
          {card
            ? trans.__('paper card, as this cell printed it')
            : trans.__('a verdict printed by this cell: not the verdict on this attempt')}
        </div>
        <Guard trans={trans}>
          {card ? (
            <CardView card={data} trans={trans} />
          ) : (
            <VerdictView title={trans.__('verdict')} verdict={data} trans={trans} />
          )}
        </Guard>
      </div>
    );
  }

  private _data: any = null;
  private _ready = new PromiseDelegate<void>();
}

/** What does not have the form of a card says so, and harms nothing around it. */
class Guard extends React.Component<{ children: React.ReactNode; trans: TranslationBundle }, { failed: boolean }> {
  state = { failed: false };
  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }
  render(): React.ReactNode {
    return this.state.failed ? (
      <pre>{this.props.trans.__('not a card or verdict that can be shown')}</pre>
    ) : (
      this.props.children
    );
  }
}

const extension: IRenderMime.IExtension[] = [CARD, VERDICT].map(mime => ({
  id: `@reclaim-nb/lab:${mime === CARD ? 'card' : 'verdict'}-mime`,
  description: 'Draws a paper card or a verdict that stands in a notebook.',
  rendererFactory: {
    safe: true,
    mimeTypes: [mime],
    createRenderer: options =>
      new ReclaimRenderer(options.mimeType, (options.translator ?? nullTranslator).load(NAMESPACE))
  },
  rank: 0,
  dataType: 'json'
}));

export default extension;
