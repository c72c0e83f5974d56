import { LabIcon } from '@jupyterlab/ui-components';
import logo from '../style/icons/reclaim.svg';

/** A number line with a band and a value in it. */
export const reclaimIcon = new LabIcon({ name: '@reclaim-nb/lab:reclaim', svgstr: logo });
