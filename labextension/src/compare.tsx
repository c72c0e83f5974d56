import { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, MainAreaWidget, showDialog, WidgetTracker } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { HTMLSelect, ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';
import { Compare, Jump } from './components/Compare';
import { agentName, markOf } from './format';
import { reclaimIcon } from './icons';
import { paperOf } from './model/picks';
import { RunsModel } from './model/runs';
import { term } from './terms';
import { IAttempt } from './tokens';

/** The commands that choose two attempts of a paper and show them side by side. */
export function addCompare(given: {
  app: JupyterFrontEnd;
  model: RunsModel;
  trans: TranslationBundle;
  restorer: ILayoutRestorer | null;
  attemptOf: (args: any) => string | null;
  jumpIn: (path: string) => Jump;
}): void {
  const { app, model, trans, attemptOf, jumpIn } = given;
  const { commands, shell } = app;
  const tracker = new WidgetTracker<MainAreaWidget<CompareWidget>>({ namespace: 'reclaim-compare' });
  void given.restorer?.restore(tracker, {
    command: 'reclaim:compare',
    args: widget => ({ left: widget.content.left, right: widget.content.right }),
    name: widget => `${widget.content.left}:${widget.content.right}`
  });

  commands.addCommand('reclaim:pick', {
    label: args => {
      const path = attemptOf(args);
      return path !== null && model.picks.has(path) ? trans.__('Do Not Compare') : trans.__('Choose for Comparison');
    },
    describedBy: { args: { type: 'object', properties: { path: { type: 'string' } } } },
    isEnabled: args => attemptOf(args) !== null,
    execute: args => {
      const path = attemptOf(args);
      if (path !== null) {
        model.picks.toggle(path);
      }
    }
  });

  commands.addCommand('reclaim:compare', {
    label: trans.__('Compare Attempts…'),
    caption: trans.__('Show two attempts of one paper side by side, cell by cell'),
    describedBy: {
      args: {
        type: 'object',
        properties: { path: { type: 'string' }, left: { type: 'string' }, right: { type: 'string' } }
      }
    },
    execute: async args => {
      let [left, right] = [args.left as string | undefined, args.right as string | undefined];
      if (!left || !right) {
        const chosen = await choose(model, trans, attemptOf(args));
        if (chosen === null) {
          return;
        }
        [left, right] = chosen;
      }
      const id = `reclaim-compare-${left}:${right}`;
      if ([...shell.widgets('main')].some(widget => widget.id === id)) {
        shell.activateById(id);
        return;
      }
      const content = new CompareWidget(model, left, right, trans, [jumpIn(left), jumpIn(right)], path =>
        commands.execute('reclaim:open-page', { path })
      );
      const widget = new MainAreaWidget({ content });
      widget.id = id;
      widget.title.label = trans.__('Compare: %1', left.split('/')[2]);
      widget.title.caption = `${left}\n${right}`;
      widget.title.icon = reclaimIcon;
      widget.title.closable = true;
      shell.add(widget, 'main', { mode: 'tab-after' });
      await tracker.add(widget);
    }
  });
}

class CompareWidget extends ReactWidget {
  constructor(
    private _model: RunsModel,
    readonly left: string,
    readonly right: string,
    private _trans: TranslationBundle,
    private _jump: [Jump, Jump],
    private _openPage: (path: string) => void
  ) {
    super();
    this.addClass('jp-reclaim-Document');
    const onAttempt = (_: unknown, path: string) => {
      if (path === left || path === right) {
        this._changes += 1;
        this.update();
      }
    };
    _model.attemptChanged.connect(onAttempt);
    this.disposed.connect(() => _model.attemptChanged.disconnect(onAttempt));
  }

  render(): React.ReactElement {
    return (
      <Compare
        api={this._model.api}
        left={this.left}
        right={this.right}
        changes={this._changes}
        jump={this._jump}
        openPage={this._openPage}
        trans={this._trans}
      />
    );
  }

  private _changes = 0;
}

/** Ask for two attempts of one paper; those that are chosen in the panel stand there first. */
async function choose(
  model: RunsModel,
  trans: TranslationBundle,
  path: string | null
): Promise<[string, string] | null> {
  if (!model.loaded || model.problem !== null) {
    await model.refresh();
  }
  const attempts = [...model.attempts.values()].filter(attempt => !attempt.imported);
  const counts = new Map<string, number>();
  attempts.forEach(one => counts.set(paperOf(one.path), (counts.get(paperOf(one.path)) ?? 0) + 1));
  const papers = [...counts].filter(([, count]) => count > 1).map(([name]) => name);
  if (papers.length === 0) {
    await showDialog({
      title: trans.__('There are no two attempts of one paper'),
      body: trans.__('Make another attempt at a paper that has one, then compare them.'),
      buttons: [Dialog.okButton()]
    });
    return null;
  }
  const picks = model.picks.paths;
  const meant =
    path !== null && picks.length < 2 && (picks.length === 0 || paperOf(path) !== paperOf(picks[0]))
      ? [path, '']
      : [picks[0] ?? '', picks[1] ?? path ?? ''];
  const form = new CompareForm(attempts, papers.sort(), meant as [string, string], trans);
  const answer = await showDialog({
    title: trans.__('Compare attempts'),
    body: form,
    buttons: [Dialog.cancelButton(), Dialog.okButton({ label: trans.__('Compare') })]
  });
  return answer.button.accept ? form.chosen : null;
}

class CompareForm extends ReactWidget {
  constructor(
    private _attempts: IAttempt[],
    private _papers: string[],
    [left, right]: [string, string],
    private _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-reclaim-StartForm');
    this._take(_papers.includes(paperOf(left)) ? paperOf(left) : _papers[0], left, right);
  }

  get chosen(): [string, string] {
    return [this._left, this._right];
  }

  render(): React.ReactElement {
    const trans = this._trans;
    const paper = paperOf(this._left);
    const choice = (label: string, value: string, all: IAttempt[], set: (path: string) => void) => (
      <label>
        <span>{label}</span>
        <HTMLSelect value={value} onChange={event => set(event.target.value)}>
          {all.map(one => (
            <option key={one.path} value={one.path}>
              {`${agentName(one)} ${one.batch} #${one.repeat}: ${term(markOf(one), trans)}`}
            </option>
          ))}
        </HTMLSelect>
      </label>
    );
    const all = this._of(paper);
    return (
      <div className="jp-reclaim-Form">
        <label>
          <span>{trans.__('Paper')}</span>
          <HTMLSelect value={paper} onChange={event => this._take(event.target.value, '', '')}>
            {this._papers.map(name => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </HTMLSelect>
        </label>
        {choice(trans.__('Attempt'), this._left, all, path => this._take(paper, path, this._right))}
        {choice(
          trans.__('With'),
          this._right,
          all.filter(one => one.path !== this._left),
          path => this._take(paper, this._left, path)
        )}
      </div>
    );
  }

  private _of(paper: string): IAttempt[] {
    return this._attempts.filter(one => paperOf(one.path) === paper);
  }

  private _take(paper: string, left: string, right: string): void {
    const paths = this._of(paper).map(one => one.path);
    this._left = paths.includes(left) ? left : paths[0];
    const others = paths.filter(path => path !== this._left);
    this._right = others.includes(right) ? right : others[0];
    this.update();
  }

  private _left = '';
  private _right = '';
}
