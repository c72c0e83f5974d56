import { Cell, ICodeCellModel } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import { cellSeconds, since } from '../format';
import { term } from '../terms';
import { ILive } from '../tokens';

/** What the harness says of a cell, in its metadata. */
export interface ICellFacts {
  author?: string;
  turn?: number | null;
  status?: string;
  started?: string;
  held_seconds?: number;
  charged_seconds?: number;
  gaps?: number;
  late?: number;
  after_stop?: number;
  cleared?: number;
  updated_later_by?: string[];
  detail?: string;
}

const LEFT_OUT = /\[… [\d,.]+ [a-z]+ left out|kept in the record/;

/** What stands in the gutter beside a cell: words for the eye, a sentence for the rest, and how hot it was. */
export interface IGutter {
  turn: string;
  time: string;
  percent: string;
  heat: number;
  flags: { sign: string; text: string; kind: string }[];
  prose: boolean;
  title: string;
}

/**
 * Decide what a gutter shows. `total`: charged seconds of the whole attempt. `running`: how long the cell has been
 * running, empty when that is not known yet; null when it does not run.
 */
export function gutterOf(
  facts: ICellFacts,
  type: string,
  total: number,
  broken: boolean,
  cut: boolean,
  trans: TranslationBundle,
  running: string | null = null
): IGutter {
  const charged = facts.charged_seconds ?? 0;
  const part = total > 0 ? charged / total : 0;
  const flags: IGutter['flags'] = [];
  const flag = (sign: string, kind: string, text: string) => flags.push({ sign, kind, text });
  if (broken) {
    flag('✗', 'error', trans.__('this cell differs from the stream: the record is broken here'));
  }
  if (running !== null) {
    flag(term('running', trans), 'running', running ? trans.__('running for %1', running) : term('running', trans));
  } else if (facts.status && facts.status !== 'ok') {
    const status = term(facts.status, trans);
    const ended = trans.__('the cell ended: %1', status);
    flag(status, facts.status === 'error' ? 'error' : 'warn', facts.detail ? `${ended} (${facts.detail})` : ended);
  }
  if (facts.updated_later_by?.length) {
    flag('↻', 'warn', trans.__('an output was updated later, by cell %1', facts.updated_later_by.join(', ')));
  }
  if (facts.cleared) {
    flag('⌫', 'dim', trans.__('outputs were cleared %1 times; the stream has them all', facts.cleared));
  }
  if (facts.late) {
    flag(trans.__('late'), 'dim', trans.__('%1 messages came after the cell’s end', facts.late));
  }
  if (facts.after_stop) {
    flag(
      trans.__('after stop'),
      'warn',
      trans.__('%1 messages came after the attempt was stopped and count for nothing', facts.after_stop)
    );
  }
  if (facts.gaps) {
    flag(trans.__('gap'), 'warn', trans.__('%1 messages were lost on the way', facts.gaps));
  }
  if (cut) {
    flag('…', 'dim', trans.__('the output is cut here; it is whole in the record'));
  }
  const prose = type === 'markdown' && facts.author === 'agent';
  const turn = facts.author === 'harness' ? '' : facts.turn ? trans.__('turn %1', facts.turn) : '';
  const time = type !== 'code' ? '' : running !== null ? running : cellSeconds(facts.held_seconds);
  const percent = part >= 0.005 ? `${Math.round(part * 100)} %` : '';
  const [held, paid] = [cellSeconds(facts.held_seconds), cellSeconds(charged)];
  const ran = percent
    ? trans.__('ran %1, charged %2 (%3 of the spend)', held, paid, percent)
    : trans.__('ran %1, charged %2', held, paid);
  const title = [
    facts.author === 'harness'
      ? trans.__('written by the harness')
      : prose
        ? trans.__('the agent’s prose: never evidence')
        : turn,
    type === 'code' && running === null && facts.held_seconds !== undefined ? ran : '',
    ...flags.map(one => one.text)
  ]
    .filter(Boolean)
    .join('\n');
  return { turn, time, percent, heat: part, flags, prose, title };
}

/** Draws the gutter of every cell of a panel. The document is not touched. */
export class Gutter {
  constructor(
    private _panel: NotebookPanel,
    private _trans: TranslationBundle
  ) {}

  /** Cells that differ from the stream. */
  broken = new Set<string>();

  /** The attempt as it runs, null when it does not. */
  live: ILive | null = null;

  update(visible: boolean): void {
    this._panel.toggleClass('jp-mod-reclaim-gutter', visible);
    if (!visible) {
      return;
    }
    const cells = this._panel.content.widgets;
    const total = cells.reduce((sum, cell) => sum + (factsOf(cell)?.charged_seconds ?? 0), 0);
    for (const cell of cells) {
      const facts = factsOf(cell);
      if (facts !== null) {
        this._show(cell, facts, total);
      }
    }
    this._total = total;
  }

  /** A second has passed: the time beside the cell that runs goes on. */
  tick(): void {
    const cell = this._panel.content.widgets.find(one => one.model.id === this.live?.cell);
    const facts = cell && this.live?.running ? factsOf(cell) : null;
    if (cell && facts !== null) {
      this._show(cell, facts, this._total);
    }
  }

  private _show(cell: Cell, facts: ICellFacts, total: number): void {
    const { id, type } = cell.model;
    const running = runningFor(facts, id, this.live, Date.now());
    const gutter = gutterOf(facts, type, total, this.broken.has(id), this._isCut(cell, facts), this._trans, running);
    const key = JSON.stringify(gutter);
    if (this._drawn.get(cell) !== key) {
      this._drawn.set(cell, key);
      draw(cell, gutter);
    }
  }

  /** Whether outputs are cut stays as it is once a cell has ended, and is dear to find out. */
  private _isCut(cell: Cell, facts: ICellFacts): boolean {
    let cut = this._cut.get(cell);
    if (cut === undefined) {
      cut = isCut(cell);
      if (facts.status !== 'not_run') {
        this._cut.set(cell, cut);
      }
    }
    return cut;
  }

  private _drawn = new WeakMap<Cell, string>();
  private _cut = new WeakMap<Cell, boolean>();
  private _total = 0;
}

/** How long a cell has been running, empty when that is not known yet; null when it does not run. */
export function runningFor(facts: ICellFacts, id: string, live: ILive | null, now: number): string | null {
  // The notebook may be a little behind the stream, and the stream's news a little behind the notebook.
  if (live === null || facts.status !== 'not_run') {
    return null;
  }
  return live.running && live.cell === id ? since(live.since, now) : '';
}

export function factsOf(cell: Cell): ICellFacts | null {
  const facts = cell.model.getMetadata('reclaim');
  return facts !== null && typeof facts === 'object' ? (facts as ICellFacts) : null;
}

function isCut(cell: Cell): boolean {
  if (cell.model.type !== 'code') {
    return false;
  }
  const { outputs } = cell.model as ICodeCellModel;
  for (let index = 0; index < outputs.length; index++) {
    const output = outputs.get(index);
    // Its text as it is: a copy of fifty megabytes of outputs would be felt.
    if (output.type === 'stream' && LEFT_OUT.test(output.streamText?.text ?? '')) {
      return true;
    }
  }
  return false;
}

function draw(cell: Cell, gutter: IGutter): void {
  let node = cell.node.querySelector<HTMLElement>(':scope > .jp-reclaim-Gutter');
  if (node === null) {
    node = document.createElement('div');
    node.className = 'jp-reclaim-Gutter';
    cell.node.appendChild(node);
  }
  node.replaceChildren();
  node.title = gutter.title;
  node.setAttribute('role', 'note');
  node.setAttribute('aria-label', gutter.title);
  cell.node.classList.toggle('jp-mod-reclaim-prose', gutter.prose);
  const line = (text: string, kind = '') => {
    if (text !== '') {
      const part = document.createElement('div');
      part.className = kind;
      part.textContent = text;
      words.appendChild(part);
    }
  };
  const words = document.createElement('div');
  words.className = 'jp-reclaim-Gutter-words';
  line(gutter.turn);
  line(gutter.time);
  line(gutter.percent);
  const flags = document.createElement('div');
  for (const flag of gutter.flags) {
    const sign = document.createElement('span');
    sign.className = `jp-reclaim-Gutter-flag jp-mod-${flag.kind}`;
    sign.textContent = flag.sign;
    flags.appendChild(sign);
  }
  words.appendChild(flags);
  const bar = document.createElement('div');
  bar.className = 'jp-reclaim-Gutter-bar';
  if (gutter.time !== '') {
    bar.classList.add('jp-mod-code');
    bar.classList.toggle(
      'jp-mod-running',
      gutter.flags.some(one => one.kind === 'running')
    );
    // The root, so that a share of a few percent can still be told from none.
    bar.style.setProperty('--jp-reclaim-heat', String(Math.round(Math.sqrt(gutter.heat) * 100)));
  }
  node.append(words, bar);
}
