import { TranslationBundle } from '@jupyterlab/translation';
import { closeIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { agentName } from '../format';
import { Picks } from '../model/picks';
import { RunsModel } from '../model/runs';

/** Chooses an attempt to compare; the row that it stands in says the same to a screen reader. */
export function PickBox(props: { path: string; picks: Picks; trans: TranslationBundle }): React.ReactElement {
  const { path, picks, trans } = props;
  return (
    <input
      type="checkbox"
      className="jp-reclaim-Pick"
      tabIndex={-1}
      aria-hidden="true"
      checked={picks.has(path)}
      title={trans.__('Choose it for a comparison (Ctrl+click; Shift+Space)')}
      onClick={event => event.stopPropagation()}
      onChange={() => picks.toggle(path)}
    />
  );
}

/** What is chosen, and what to do next. */
export function PickBar(props: {
  model: RunsModel;
  compare: (left: string, right: string) => void;
  trans: TranslationBundle;
}): React.ReactElement | null {
  const { model, compare, trans } = props;
  const paths = model.picks.paths;
  if (paths.length === 0) {
    return null;
  }
  const names = paths.map(path => {
    const attempt = model.attempts.get(path);
    return attempt === undefined ? path : `${agentName(attempt)} #${attempt.repeat}`;
  });
  const paper = model.attempts.get(paths[0])?.paper ?? '';
  return (
    <div className="jp-reclaim-PickBar" role="region" aria-label={trans.__('Comparison')}>
      <div className="jp-reclaim-PickBar-text" role="status">
        <b>{paper}</b>
        {names.map((name, index) => (
          <span key={index}>{name}</span>
        ))}
        {paths.length === 1 && (
          <span className="jp-reclaim-dim">{trans.__('Choose another attempt at this paper.')}</span>
        )}
      </div>
      <button
        className="jp-mod-styled jp-mod-accept"
        disabled={paths.length < 2}
        onClick={() => compare(paths[0], paths[1])}
      >
        {trans.__('Compare')}
      </button>
      <button
        className="jp-reclaim-IconButton"
        title={trans.__('Choose none')}
        aria-label={trans.__('Choose none')}
        onClick={() => model.picks.clear()}
      >
        <closeIcon.react tag="span" width="14px" height="14px" />
      </button>
    </div>
  );
}
