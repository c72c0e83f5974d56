import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { Api } from '../api';
import { agentName, cellSeconds, deviceUnit, markOf, span, spend } from '../format';
import { folded } from '../model/spend';
import { meaningOf, term } from '../terms';
import { IComparedCell, IComparedRow, IComparison, IDetail, IText } from '../tokens';
import { verdictOf } from './BannerParts';
import { Mark } from './Mark';
import { NumberLine } from './NumberLine';
import { SpendChart } from './SpendChart';
import { OutputText, Pager } from './Texts';

const SIZE = 40;

export type Jump = (cell: string | null, output: number | null, text: string, line: string) => void;

interface IProps {
  api: Api;
  left: string;
  right: string;
  /** Grows whenever one of the attempts has changed. */
  changes: number;
  jump: [Jump, Jump];
  openPage: (path: string) => void;
  trans: TranslationBundle;
}

interface IState {
  details: [IDetail, IDetail] | null;
  comparison: IComparison | null;
  different: boolean;
  problem: string | null;
  busy: boolean;
}

/** Two attempts of one paper: what came of each, what each spent, and their cells side by side. */
export class Compare extends React.Component<IProps, IState> {
  state: IState = { details: null, comparison: null, different: false, problem: null, busy: false };

  componentDidMount(): void {
    void this._read(0, true);
  }

  componentDidUpdate(before: IProps): void {
    if (before.changes !== this.props.changes) {
      void this._read(this.state.comparison?.start ?? 0, true);
    }
  }

  render(): React.ReactNode {
    const { trans } = this.props;
    const { details, comparison, problem } = this.state;
    if (problem !== null) {
      return (
        <div className="jp-reclaim-Explorer-empty" role="alert">
          <p>{problem}</p>
          <button className="jp-mod-styled jp-mod-minimal" onClick={() => void this._read(0, true)}>
            {trans.__('Try again')}
          </button>
        </div>
      );
    }
    if (details === null || comparison === null) {
      return <div className="jp-reclaim-Explorer-empty">{trans.__('Reading both attempts…')}</div>;
    }
    const names = details.map(detail => nameOf(detail)) as [string, string];
    const paper = details[0].paper ?? details[1].paper;
    const attempt = details[0].attempt;
    return (
      <div className="jp-reclaim-Page jp-reclaim-Compare" ref={this._node}>
        <header>
          <h1>{trans.__('%1: two attempts', attempt.paper)}</h1>
          <p className="jp-reclaim-dim">
            {attempt.title}
            {paper?.criterion ? ` · ${trans.__('reproduced if %1', paper.criterion)}` : ''}
          </p>
        </header>
        <div className="jp-reclaim-Compare-sides">
          {this._side(details[0], details[1])}
          {this._side(details[1], details[0])}
        </div>
        <section>
          <h2>{trans.__('Spend')}</h2>
          <SpendChart
            comparison={comparison}
            names={names}
            unit={deviceUnit(attempt.device)}
            need={paper?.need_hours ?? null}
            budget={attempt.budget_hours}
            show={(side, index) => void this._show(side, index)}
            trans={trans}
          />
        </section>
        <section>
          <h2>{trans.__('Cells')}</h2>
          {this._cells(comparison, names)}
        </section>
      </div>
    );
  }

  private _side(detail: IDetail, other: IDetail): React.ReactNode {
    const { trans, openPage } = this.props;
    const { attempt, paper } = detail;
    const verdict = verdictOf(detail);
    const value = verdict?.value ?? attempt.value;
    const others = verdictOf(other)?.value ?? other.attempt.value;
    // Both lines hold both values, so that they are on the same scale.
    const scale = paper && {
      ...paper.scale,
      siblings:
        others === null || others === value
          ? paper.scale.siblings
          : [...paper.scale.siblings, { name: trans.__('the other attempt'), value: others }]
    };
    const mark = markOf(attempt);
    return (
      <section className="jp-reclaim-Compare-side" aria-label={nameOf(detail)}>
        <h3>
          <Mark mark={mark} trans={trans} /> {nameOf(detail)}
        </h3>
        <p>
          <span className={`jp-reclaim-outcome jp-mod-${mark}`} title={meaningOf(mark, trans)}>
            {term(mark, trans)}
          </span>
          <span className="jp-reclaim-dim">
            {attempt.cause ? ` · ${attempt.cause}` : ''}
            {attempt.reason ? ` · ${trans.__('ended: %1', term(attempt.reason, trans))}` : ''}
            {` · ${spend(attempt, trans)}`}
          </span>
        </p>
        {scale && <NumberLine scale={scale} value={value} outcome={attempt.outcome} trans={trans} />}
        <p className="jp-reclaim-dim">{verdict?.meaning ?? trans.__('Not graded yet.')}</p>
        <button className="jp-reclaim-Link" onClick={() => openPage(attempt.path)}>
          {trans.__('Timeline and verdicts')}
        </button>
      </section>
    );
  }

  private _cells(comparison: IComparison, names: [string, string]): React.ReactNode {
    const { trans } = this.props;
    const { different, busy } = this.state;
    const count = (match: string) => comparison.pairs.filter(pair => pair.match === match).length;
    if (comparison.pairs.length === 0) {
      return <p className="jp-reclaim-dim">{trans.__('Neither attempt has a cell of its agent yet.')}</p>;
    }
    return (
      <>
        <div className="jp-reclaim-Network-head">
          <span>
            {trans.__(
              '%1 the same, %2 changed, %3 only in %4, %5 only in %6',
              count('same'),
              count('changed'),
              count('left'),
              names[0],
              count('right'),
              names[1]
            )}
          </span>
          <label>
            <input
              type="checkbox"
              checked={different}
              onChange={event => this.setState({ different: event.target.checked }, () => void this._read(0))}
            />{' '}
            {trans.__('only what differs')}
          </label>
        </div>
        {comparison.total === 0 && (
          <p className="jp-reclaim-dim">{trans.__('The cells of both attempts are the same.')}</p>
        )}
        <div role="list" className="jp-reclaim-Compare-rows" aria-busy={busy}>
          {comparison.rows.map(row => this._row(comparison, row, names))}
        </div>
        <Pager
          start={comparison.start}
          shown={comparison.rows.length}
          total={comparison.total}
          busy={busy}
          size={SIZE}
          go={start => void this._read(start)}
          what={trans.__('Parts of the comparison')}
          trans={trans}
        />
      </>
    );
  }

  private _row(comparison: IComparison, row: IComparedRow, names: [string, string]): React.ReactNode {
    const { trans, jump } = this.props;
    const one = row.left === null ? null : comparison.left.cells[row.left];
    const other = row.right === null ? null : comparison.right.cells[row.right];
    const text = {
      same: trans.__('the same in both'),
      changed: trans.__('changed'),
      left: trans.__('only in %1', names[0]),
      right: trans.__('only in %1', names[1])
    }[row.match];
    const differs = row.left_output?.text !== row.right_output?.text;
    const prose = (one ?? other)?.kind === 'markdown';
    const source = <Lines row={row} prose={prose} trans={trans} />;
    return (
      <div
        key={`${row.left}-${row.right}`}
        role="listitem"
        aria-label={text}
        className={`jp-reclaim-Compare-row jp-mod-${row.match}`}
        data-left={row.left ?? undefined}
        data-right={row.right ?? undefined}
        tabIndex={-1}
      >
        <div className="jp-reclaim-Compare-match">{text}</div>
        {this._head(one, jump[0])}
        {this._head(other, jump[1])}
        {row.match === 'same' ? (
          <details className="jp-reclaim-Compare-source">
            <summary>
              <code>{(one as IComparedCell).line || trans.__('an empty cell')}</code>
            </summary>
            {source}
          </details>
        ) : (
          <div className="jp-reclaim-Compare-source">{source}</div>
        )}
        {differs && this._output(row.left_output)}
        {differs && this._output(row.right_output)}
        {!differs && row.left_output !== null && row.left_output.text !== '' && (
          <details className="jp-reclaim-Compare-source">
            <summary className="jp-reclaim-dim">{trans.__('the same output')}</summary>
            {this._output(row.left_output)}
          </details>
        )}
      </div>
    );
  }

  private _head(cell: IComparedCell | null, jump: Jump): React.ReactNode {
    const { trans } = this.props;
    if (cell === null) {
      return <div className="jp-reclaim-Compare-head" />;
    }
    const failed = !['ok', 'running', 'not_run'].includes(cell.status);
    return (
      <div className="jp-reclaim-Compare-head">
        <span>{cell.turn === null ? term(cell.author, trans) : trans.__('turn %1', cell.turn)}</span>
        {cell.kind === 'code' && (
          <>
            <span className={failed ? 'jp-reclaim-error' : 'jp-reclaim-dim'}>
              {failed ? `✗ ${term(cell.status, trans)}` : term(cell.status, trans)}
            </span>
            <span className="jp-reclaim-dim">
              {trans.__('charged %1', cellSeconds(cell.charged))}
              {cell.hours !== null && ` · ${trans.__('spent %1 by then', span(cell.hours))}`}
            </span>
          </>
        )}
        <button
          className="jp-reclaim-Link"
          title={trans.__('Show this cell in its notebook')}
          onClick={() => jump(cell.id, null, '', cell.line)}
        >
          {trans.__('Show')}
        </button>
      </div>
    );
  }

  private _output(output: IText | null): React.ReactNode {
    return (
      <div className="jp-reclaim-Compare-output">
        {output !== null && <OutputText output={output} trans={this.props.trans} />}
      </div>
    );
  }

  /** Bring the row of a cell into view, in the window that holds it. */
  private async _show(side: 'left' | 'right', index: number): Promise<void> {
    const find = () => this._node.current?.querySelector<HTMLElement>(`[data-${side}="${index}"]`);
    if (!find()) {
      this.setState({ different: false });
      const at = (this.state.comparison as IComparison).pairs.findIndex(pair => pair[side] === index);
      await this._read(Math.max(0, at - SIZE / 2), false, false);
    }
    const row = find();
    row?.scrollIntoView({ block: 'center' });
    row?.focus();
  }

  private async _read(start: number, anew = false, different = this.state.different): Promise<void> {
    const { api, left, right } = this.props;
    this.setState({ busy: true });
    try {
      const [comparison, one, other] = await Promise.all([
        api.compare(left, right, { start, count: SIZE, only: different ? 'different' : undefined }),
        anew ? api.attempt(left) : null,
        anew ? api.attempt(right) : null
      ]);
      const details = one !== null && other !== null ? ([one, other] as [IDetail, IDetail]) : this.state.details;
      // What is shown by then is looked for next.
      await new Promise<void>(done => this.setState({ comparison, details, problem: null, busy: false }, done));
    } catch (problem) {
      this.setState({ problem: (problem as Error).message, busy: false });
    }
  }

  private _node = React.createRef<HTMLDivElement>();
}

/** The sources of a row, line beside line; long runs of equal lines are left out until they are asked for. */
function Lines(props: { row: IComparedRow; prose: boolean; trans: TranslationBundle }): React.ReactElement {
  const { row, prose, trans } = props;
  const [whole, setWhole] = React.useState(row.match !== 'changed');
  const side = (text: string | null, same: boolean, sign: string): React.ReactElement => (
    <code className={text === null ? 'jp-mod-none' : same || row.match !== 'changed' ? '' : 'jp-mod-differs'}>
      {text === null ? '' : row.match === 'changed' ? `${same ? ' ' : sign} ${text}` : text}
    </code>
  );
  return (
    <div className={`jp-reclaim-Lines${prose ? ' jp-mod-prose' : ''}`} tabIndex={0}>
      {(whole ? [{ lines: row.lines }] : folded(row.lines)).map((run, index) =>
        'skipped' in run ? (
          <button key={index} className="jp-reclaim-Link" onClick={() => setWhole(true)}>
            {trans.__('%1 lines that are the same', run.skipped)}
          </button>
        ) : (
          run.lines.map((line, at) => (
            <React.Fragment key={`${index}-${at}`}>
              {side(line.left, line.same, '−')}
              {side(line.right, line.same, '+')}
            </React.Fragment>
          ))
        )
      )}
      {row.cut && <span className="jp-reclaim-dim">{trans.__('… cut here; the notebooks hold it all')}</span>}
    </div>
  );
}

function nameOf(detail: IDetail): string {
  const { attempt } = detail;
  const batch = attempt.batch === 'single' || attempt.batch === 'lab' ? '' : ` ${attempt.batch}`;
  return `${agentName(attempt)}${batch} #${attempt.repeat}`;
}
