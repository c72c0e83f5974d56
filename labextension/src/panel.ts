import { CommandToolbarButton, Toolbar, ReactWidget } from '@jupyterlab/ui-components';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Panel } from '@lumino/widgets';
import * as React from 'react';
import { Explorer } from './components/Explorer';
import { IActions } from './components/ExplorerRow';
import { reclaimIcon } from './icons';
import { BatchesModel } from './model/batches';
import { RunsModel } from './model/runs';

/** The panel at the side. */
export class ReclaimPanel extends Panel {
  constructor(
    model: RunsModel,
    batches: BatchesModel,
    commands: CommandRegistry,
    actions: IActions,
    trans: TranslationBundle
  ) {
    super();
    this.id = 'jp-reclaim-panel';
    this.title.icon = reclaimIcon;
    this.title.caption = trans.__('RECLAIM: suites and attempts');
    this.addClass('jp-reclaim-Panel');
    const toolbar = new Toolbar();
    toolbar.node.setAttribute('aria-label', trans.__('RECLAIM'));
    const name = ReactWidget.create(React.createElement('span', { className: 'jp-reclaim-Panel-name' }, 'RECLAIM'));
    toolbar.addItem('name', name);
    toolbar.addItem('spacer', Toolbar.createSpacerItem());
    for (const id of ['reclaim:new-attempt', 'reclaim:refresh']) {
      toolbar.addItem(id, new CommandToolbarButton({ commands, id, label: '' }));
    }
    this.addWidget(toolbar);
    const body = ReactWidget.create(React.createElement(Explorer, { model, batches, actions, trans }));
    body.addClass('jp-reclaim-Panel-body');
    this.addWidget(body);
  }
}
