import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { IText } from '../tokens';

/** A text of the record, as text alone whatever it holds; where it was cut, the whole can be asked for. */
export function RecordText(props: {
  text: IText;
  className?: string;
  whole?: () => void;
  trans: TranslationBundle;
}): React.ReactElement {
  const { text, whole, trans } = props;
  return (
    <>
      <pre className={`jp-reclaim-Text ${props.className ?? ''}`} tabIndex={0}>
        {text.text}
      </pre>
      {text.cut && whole && (
        <button className="jp-reclaim-Link" onClick={whole}>
          {trans.__('Show all %1 characters', text.characters.toLocaleString())}
        </button>
      )}
    </>
  );
}

/** The end of what a cell printed. */
export function OutputText(props: { output: IText; trans: TranslationBundle }): React.ReactElement | null {
  const { output, trans } = props;
  return output.text === '' ? null : (
    <>
      {output.cut && <div className="jp-reclaim-dim jp-reclaim-Text-cut">{trans.__('… the end of the output')}</div>}
      <pre className="jp-reclaim-Text jp-mod-output" tabIndex={0}>
        {output.text}
      </pre>
    </>
  );
}

/** Which part of a long list is shown, and the way to the others. */
export function Pager(props: {
  start: number;
  shown: number;
  total: number;
  busy: boolean;
  go: (start: number) => void;
  size: number;
  what: string;
  trans: TranslationBundle;
}): React.ReactElement | null {
  const { start, shown, total, busy, go, size, trans } = props;
  if (total <= size) {
    return null;
  }
  const button = (label: string, to: number, enabled: boolean) => (
    <button className="jp-mod-styled jp-mod-minimal" disabled={!enabled || busy} onClick={() => go(to)}>
      {label}
    </button>
  );
  const last = Math.max(0, total - size);
  return (
    <nav className="jp-reclaim-Pager" aria-label={props.what}>
      {button(trans.__('First'), 0, start > 0)}
      {button(trans.__('Earlier'), Math.max(0, start - size), start > 0)}
      <span className="jp-reclaim-dim" role="status">
        {trans.__('%1–%2 of %3', start + 1, start + shown, total)}
      </span>
      {button(trans.__('Later'), Math.min(last, start + size), start + shown < total)}
      {button(trans.__('Last'), last, start + shown < total)}
    </nav>
  );
}
