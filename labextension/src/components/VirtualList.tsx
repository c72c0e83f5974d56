import * as React from 'react';

const SPARE = 300; // pixels drawn beyond what is seen, at each end

/** Rows of known heights, of which only those in view are drawn. */
export class VirtualList<T extends { key: string }> extends React.Component<
  {
    items: T[];
    heightOf: (item: T) => number;
    render: (item: T, index: number) => React.ReactNode;
    className: string;
    attributes: React.HTMLAttributes<HTMLDivElement>;
    /** Key of the row to keep in view when it changes. */
    reveal: string | null;
  },
  { top: number; height: number }
> {
  state = { top: 0, height: 800 };

  componentDidMount(): void {
    const node = this._node.current;
    if (node && typeof ResizeObserver !== 'undefined') {
      this._observer = new ResizeObserver(() => this.setState({ height: node.clientHeight }));
      this._observer.observe(node);
    }
  }

  componentDidUpdate(before: Readonly<VirtualList<T>['props']>): void {
    if (this.props.reveal !== before.reveal && this.props.reveal !== null) {
      this._reveal(this.props.reveal);
    }
  }

  componentWillUnmount(): void {
    this._observer?.disconnect();
  }

  focus(): void {
    this._node.current?.focus();
  }

  render(): React.ReactNode {
    const { items, heightOf, render } = this.props;
    const from = this.state.top - SPARE;
    const to = this.state.top + this.state.height + SPARE;
    const drawn: React.ReactNode[] = [];
    let offset = 0;
    items.forEach((item, index) => {
      const height = heightOf(item);
      if (offset + height >= from && offset <= to) {
        drawn.push(
          <div key={item.key} className="jp-reclaim-VirtualList-row" style={{ top: offset, height }}>
            {render(item, index)}
          </div>
        );
      }
      offset += height;
    });
    return (
      <div
        {...this.props.attributes}
        ref={this._node}
        className={`jp-reclaim-VirtualList ${this.props.className}`}
        onScroll={event => this.setState({ top: event.currentTarget.scrollTop })}
      >
        <div className="jp-reclaim-VirtualList-all" style={{ height: offset }}>
          {drawn}
        </div>
      </div>
    );
  }

  private _reveal(key: string): void {
    const node = this._node.current;
    let offset = 0;
    for (const item of this.props.items) {
      const height = this.props.heightOf(item);
      if (item.key === key && node) {
        if (offset < node.scrollTop) {
          node.scrollTop = offset;
        } else if (offset + height > node.scrollTop + node.clientHeight) {
          node.scrollTop = offset + height - node.clientHeight;
        }
        return;
      }
      offset += height;
    }
  }

  private _node = React.createRef<HTMLDivElement>();
  private _observer: ResizeObserver | null = null;
}
