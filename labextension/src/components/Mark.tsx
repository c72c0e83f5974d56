import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { meaningOf, term } from '../terms';

const SIZE = 12;

/** The mark of an attempt: told apart by shape as well as by colour. */
export function Mark(props: { mark: string; title?: string; trans: TranslationBundle }): React.ReactElement {
  const { mark, trans } = props;
  const label = props.title ?? `${term(mark, trans)}: ${meaningOf(mark, trans)}`;
  return (
    <svg
      className={`jp-reclaim-Mark jp-mod-${mark}`}
      width={SIZE}
      height={SIZE}
      viewBox="0 0 12 12"
      role="img"
      aria-label={label}
    >
      <title>{label}</title>
      {shape(mark)}
    </svg>
  );
}

function shape(mark: string): React.ReactElement {
  switch (mark) {
    case 'reproduced':
      return <circle cx="6" cy="6" r="4.5" fill="currentColor" />;
    case 'near_miss':
      return (
        <g>
          <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" />
          <path d="M6 2a4 4 0 0 1 0 8z" fill="currentColor" />
        </g>
      );
    case 'not_reproduced':
      return <path d="M2.5 2.5l7 7m0-7l-7 7" stroke="currentColor" strokeWidth="2" fill="none" />;
    case 'disqualified':
      return (
        <g fill="none" stroke="currentColor" strokeWidth="1.6">
          <circle cx="6" cy="6" r="4" />
          <path d="M3.2 8.8l5.6-5.6" />
        </g>
      );
    case 'blocked':
      return <rect x="2" y="2" width="8" height="8" rx="1" fill="currentColor" />;
    case 'unverifiable':
      return <path d="M6 1.5l4.5 4.5L6 10.5 1.5 6z" fill="none" stroke="currentColor" strokeWidth="1.4" />;
    case 'needs_human':
      return <path d="M6 1l5 5-5 5-5-5z" fill="currentColor" />;
    case 'running':
      return (
        <g fill="none" stroke="currentColor" strokeWidth="1.8">
          <circle cx="6" cy="6" r="4" strokeOpacity="0.3" />
          <path className="jp-reclaim-spin" d="M6 2a4 4 0 0 1 4 4" />
        </g>
      );
    case 'dead_runner':
    case 'unreadable':
      return <path d="M6 1.5l5 9H1zM6 5v2.5m0 1v.8" fill="none" stroke="currentColor" strokeWidth="1.2" />;
    case 'not_counted':
      return <path d="M2.5 6h7" stroke="currentColor" strokeWidth="2" />;
    default:
      return <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" />;
  }
}
