/** What the server answers, in its own names (`reclaim_nb/server/openapi.yaml`). */

export const PLUGIN = '@reclaim-nb/lab:plugin';
export const NAMESPACE = 'reclaim';

export type Tier = 'run' | 'retrain' | 'reimplement';
export type State = 'running' | 'ended' | 'dead_runner' | 'unreadable';

export interface IStatus {
  version: string;
  runs: string;
  runs_path: string | null;
  slots: number;
}

export interface IChoice {
  name: string;
  text: string;
  problem?: string | null;
}

export interface IOptions {
  agents: IChoice[];
  kernels: IChoice[];
  conditions: IChoice[];
}

export interface IPaper {
  name: string;
  suite: string;
  id: string;
  arxiv?: string | null;
  title: string;
  tier: Tier;
  device: string;
  area?: string | null;
  metric: string;
  target: string | null;
  unit: string;
  direction: string;
  criterion: string | null;
  need_hours: string | null;
  budget_hours: string;
  hours_unit: string;
  audit: 'sound' | 'doubtful' | 'broken';
  audit_reasons: string[];
  provisional?: boolean;
  changed?: boolean;
  replayable?: boolean;
}

export interface ISuite {
  name: string;
  title: string;
  papers: IPaper[];
  broken: string[];
}

export interface IAttempt {
  path: string;
  batch: string;
  suite: string;
  paper: string;
  agent: string;
  model: string | null;
  conditions: string;
  repeat: number;
  again: number;
  id: string;
  title: string;
  tier: string;
  device: string;
  kernel: string;
  unsandboxed: boolean;
  state: State;
  reason: string | null;
  outcome: string | null;
  cause: string | null;
  value: string | null;
  unit: string;
  submitted: string | null;
  spent_hours: string | null;
  budget_hours: string | null;
  started: string | null;
  updated: string | null;
  verdicts: number;
  imported: boolean;
  problem: string | null;
}

export interface ILive {
  turn: number | null;
  cell: string | null;
  running: boolean;
  since: string | null;
  line: string;
  spent_hours: string | null;
}

export interface IMark {
  name: string;
  value: string;
}

export interface IBand {
  low: string | null;
  high: string | null;
  open: boolean;
  text: string;
  tolerance: string | null;
}

export interface IScale {
  metric: string;
  unit: string;
  direction: string;
  target: string | null;
  printed?: string | null;
  band: IBand | null;
  strict: IBand | null;
  baseline: IMark | null;
  siblings: IMark[];
  gold: IMark | null;
}

export interface ICitation {
  cell: string;
  output: number | null;
  offset: number;
  text: string;
  line: string;
}

export interface IFact {
  rule: string;
  cell: string | null;
  output: number | null;
  text: string;
}

export interface IVerdict {
  outcome: string;
  cause: string | null;
  meaning: string;
  value: string | null;
  unit: string;
  target: string | null;
  band: string;
  place: string | null;
  distance: string | null;
  tolerances: string | null;
  strict_place: string | null;
  how: string;
  citations: ICitation[];
  because: IFact[];
  facts: IFact[];
  flags: string[];
  notes: string[];
  self_report: { value: string | null; cell: string | null; note: string; agrees: boolean | null };
  grader: string;
  grader_version: string;
  model: string;
}

export interface IVerdictFile {
  file: string;
  problem: string | null;
  verdict: IVerdict | null;
}

export interface IDetail {
  attempt: IAttempt;
  detail: string | null;
  ending: string | null;
  counts: boolean | null;
  hours_unit: string;
  spec: any;
  paper: (IPaper & { scale: IScale; claim: string }) | null;
  verdicts: IVerdictFile[];
  contents_path: string | null;
  /** What a record that was made elsewhere says of itself. */
  imported: { [name: string]: any } | null;
  reexecution: IReexecution;
  stamp: string;
}

/** Running the measurement again: how it stands, and what came of it. */
export interface IReexecution {
  running: boolean;
  whole: boolean | null;
  started: string | null;
  ended: string | null;
  /** The last one was stopped before all had run; nothing of it is left. */
  stopped: boolean;
  problem: string | null;
  results: { file: string; problem: string | null; result: IRerun | null }[];
}

export interface IRerun {
  what: 'cell' | 'notebook';
  kernel: string;
  measuring: string;
  cells: string[];
  original: string;
  again: string | null;
  detail: string;
  agrees: boolean | null;
  changed: string[];
  constant: boolean | null;
  left_out: { cell: string; text: string }[];
}

export interface IRecord {
  state: 'sound' | 'broken' | 'none';
  events: number;
  head: string;
  ended: boolean;
  problems: string[];
  cells: string[];
}

export interface ICard extends IPaper {
  card: any;
  sha256: string;
  scale: IScale;
  agent_markdown: string;
}

/** A text of the record, cut where it is long; shown as text alone. */
export interface IText {
  text: string;
  characters: number;
  cut: boolean;
}

export interface ICellFacts {
  id: string;
  kind: string;
  author: string;
  turn: number | null;
  status: string;
  started: string | null;
  held: number;
  charged: number;
  /** Spend of the attempt when the cell had ended. */
  hours: string | null;
}

/** Something that was said or done. */
export interface IEntry {
  index: number;
  time: string;
  kind: 'told' | 'said' | 'thought' | 'markdown' | 'cell' | 'call' | 'event';
  cell: string | null;
  author: string | null;
  turn: number | null;
  name: string | null;
  text: IText;
  result: IText | null;
  refused: boolean;
  facts: ICellFacts | null;
  output: IText | null;
}

export interface IConversation {
  total: number;
  start: number;
  ended: boolean;
  entries: IEntry[];
}

export interface INetworkRequest {
  time: string;
  cell: string | null;
  turn: number | null;
  via: string;
  method: string | null;
  host: string | null;
  port: number | null;
  path: string | null;
  status: number | null;
  bytes_in: number | null;
  allowed: boolean;
  reason: string;
  count: number;
}

export interface INetwork {
  policy: string;
  kernel: string;
  allow: string[];
  block: string[];
  allowed: number;
  refused: number;
  hosts: { host: string; allowed: number; refused: number }[];
  notes: string[];
  total: number;
  start: number;
  entries: INetworkRequest[];
}

export interface IComparedCell extends ICellFacts {
  /** Seconds after the attempt began. */
  at: number | null;
  line: string;
}

export interface ILinePair {
  left: string | null;
  right: string | null;
  same: boolean;
}

export interface IPair {
  match: 'same' | 'changed' | 'left' | 'right';
  /** Positions among the cells of each side. */
  left: number | null;
  right: number | null;
}

export interface IComparedRow extends IPair {
  lines: ILinePair[];
  cut: boolean;
  left_output: IText | null;
  right_output: IText | null;
}

export interface ICompared {
  began: string | null;
  ended: boolean;
  cells: IComparedCell[];
}

export interface IComparison {
  left: ICompared;
  right: ICompared;
  pairs: IPair[];
  total: number;
  start: number;
  rows: IComparedRow[];
}

/** An event of a stream, as the feed sends it. */
export interface IEvent {
  seq: number;
  time: string;
  kind: string;
  cell?: string | null;
  text?: string;
  source?: string;
  turn?: number | null;
  status?: string;
  hours?: string | null;
  reason?: string;
  name?: string;
}

/** Where a person works on an attempt of theirs. */
export interface IDesk {
  contents_path: string | null;
  open: boolean;
}

export interface IDeskAsk {
  do: 'submit' | 'close';
  value?: string;
  note?: string;
}

export interface IDeskAnswer {
  state: 'over' | 'told';
  text: string;
}

export interface IHours {
  unit: string;
  hours: string;
}

/** What a plan file would do. */
export interface IPlan {
  name: string;
  suites: string[];
  papers: string[];
  agents: string[];
  repeats: number;
  kernel: string;
  network: string;
  total: number;
  done: number;
  slots: number;
  most_hours: IHours[];
  running: boolean;
}

export interface IBatch {
  folder: string;
  name: string;
  total: number;
  /** How often an attempt is made again after a fault or a stop. */
  retries: number;
  hours: IHours[];
  running: boolean;
}

export interface IStart {
  paper: string;
  agent: string;
  model?: string;
  options?: { [name: string]: unknown };
  kernel: string;
  network: string;
  batch: string;
  budget_hours?: number;
  turns?: number;
  wall_clock_seconds?: number;
  conditions: string[];
}
